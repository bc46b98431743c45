# The families of kernels: what a bug in one makes compile anew, and which tests are run for it.
# Sourced, never run.
# shellcheck shell=bash disable=SC2034

# family NAME: in `sources`, what is compiled with the bug; in `tests`, those that are run, and in
# `few`, those of them that are run in other orders and with sanitizers.
family() {
  local one='AttendFloat/EveryKernel.GivesTheBitsOfTheReference/bf16_64'
  case $1 in
    float)
      sources=(attend_float_bf16.cu)
      few="$one:AttendFloat.EveryLength*"
      tests="$few:AttendFloat.EveryWindow*"
      tests+=":Attend.SequencesOf*:Attend.WhatARow*:Attend.AMaximum*:Attend.OffsetsOf*"
      ;;
    float_scales)
      sources=(attend_float_e4m3.cu)
      few=${one/bf16/e4m3}
      tests="$few:AttendFloat.EveryGroup*:Attend.NoOrderOfThreads*"
      ;;
    combine)
      sources=(attend.cu attend_float_bf16.cu)
      few="$one:AttendFinish.AnyBlock*:AttendFinish.MoreChunks*"
      tests="$few:AttendFinish.*:Attend.SlicesOf*:Attend.ARowThat*:Attend.PartialResults*"
      ;;
    int)
      sources=(attend_int.cu)
      few="AttendInt.Prefill*:AttendInt.LengthsAroundChunks"
      tests="$few:AttendInt.EveryGroup:AttendInt.SoftCap*:AttendInt.QueriesOf*:AttendInt.ScalesOf*"
      ;;
    fast)
      sources=(attend_fast.cu)
      few="AttendFast.LengthsAroundChunks:AttendFast.Prefill*"
      tests=$few:AttendFast.QueriesBeyondF16:AttendFast.ScalesOfValues*:AttendFastWide.ManyChunks
      ;;
    fast_wide)
      sources=(attend_fast_wide.cu)
      few="AttendFastWide.LengthsAround*:AttendFastWide.AnyOrder*"
      tests="$few:AttendFastWide.EveryDType*:AttendFastWide.WindowsAnd*:AttendFastWide.Static*"
      tests+=":AttendFastWide.AllOf*"
      ;;
    general)
      sources=(attend_general.cu)
      few="AttendGeneral/EveryPair.*/bf16_bf16:AttendGeneral/EveryPair.*/int8_e4m3"
      few+=":AttendGeneral.EveryLength*"
      tests="$few:AttendGeneral/EveryPair.*/f32_f32:AttendGeneral.EveryHeadDim*"
      tests+=":AttendGeneral.EveryLayout*:AttendGeneral.TinyAndHuge*"
      ;;
    append)
      sources=(append.cu)
      few="CudaAppend.PositionsUpTo*:CudaAppend.MoreRows*"
      tests="CudaAppend.*:CudaStoreCross.*"
      ;;
    copies)
      sources=(copies.cu)
      few="CudaCopyBlocks.Chains*:CudaCopyBlocks.LongRuns*:CudaGatherBlockTable.*"
      tests="CudaCopyBlocks.*:CudaGatherBlockTable.*:CudaZeroSlots.*"
      ;;
    conv)
      sources=(conv.cu)
      few="CudaConv.ResultsMay*:CudaConv.Strides*"
      tests="CudaConv.*"
      ;;
    recurrent)
      sources=(recurrent.cu)
      few="CudaGatedDelta.AllOptions*:CudaGatedDelta.LongRows*:CudaSelectiveState.AllOptions*"
      tests="CudaGatedDelta.*:CudaSelectiveState.*"
      ;;
    *) die "no family of kernels is named $1" ;;
  esac
}
