// A small valid file of every format, for tests that treat all of them alike.
#pragma once

#include <iterator>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

struct FormatSample {
  TraceFormat format;
  const char* text;
  std::size_t requests;
};

inline const FormatSample kFormatSamples[] = {
    {TraceFormat::Mooncake,
     R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]})"
     "\n"
     R"({"timestamp": 3000, "input_length": 513, "output_length": 1, "hash_ids": [0, 2]})"
     "\n",
     2},
    {TraceFormat::Dynamo,
     R"({"request_id":"a","session_id":"s","timestamp":1.5,"input_length":5,"output_length":3,)"
     R"("hash_ids":[1],"priority":-2})"
     "\n"
     R"({"request_id":"b","session_id":"s","delay":2.5,"input_tokens":6,"output_tokens":0,)"
     R"("hash_ids":[1],"wait_for":["a"],"tool_wait_ms":1,"strict_priority":1,"branches":[]})"
     "\n",
     2},
    {TraceFormat::Aiperf,
     R"({"input_length":700,"hash_ids":[3,4],"session_id":"x","headers":{"a":"b"}})"
     "\n\n"
     R"({"input_length":10,"hash_ids":[3],"session_id":"x","delay":12})"
     "\n",
     2},
    {TraceFormat::Bailian,
     R"({"chat_id":7,"parent_chat_id":-1,"timestamp":0.25,"input_length":20,"output_length":3,)"
     R"("type":"text","turn":1,"hash_ids":[5,6]})"
     "\n"
     R"({"chat_id":8,"parent_chat_id":7,"timestamp":2,"input_length":40,"output_length":3,)"
     R"("type":"text","turn":2,"hash_ids":[5,6,6]})"
     "\n",
     2},
    {TraceFormat::Azure,
     "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
     "2023-11-16 18:17:04.0319600,3180,8",
     2},
    {TraceFormat::BurstGpt,
     "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type,Session ID,Elapsed "
     "time\n5,ChatGPT,472,18,490,Conversation log,12,3.5\n45.5,GPT-4,100,0,100,API log,,1\n",
     2},
    {TraceFormat::Vidur,
     "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n", 2},
    {TraceFormat::Splitwise,
     "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_"
     "size\n"
     "0,2,0,0.5,1,374,44\n1,2,0,4.3,1,396,109\n",
     2},
    {TraceFormat::Weka,
     R"({"id":"t","block_size":64,"hash_id_scope":"local","requests":[)"
     R"({"t":0.0,"type":"n","in":130,"out":4,"hash_ids":[1,2],"api_time":1.5},)"
     R"({"t":9.0,"type":"subagent","duration_ms":7000,"requests":[)"
     R"({"t":1,"type":"s","in":64,"out":2,"hash_ids":[9],"ttft":0.1,"api_time":5}]},)"
     R"({"t":10,"type":"n","in":200,"out":0,"hash_ids":[1,2,3],"think_time":8.5}]})"
     "\n",
     3},
    {TraceFormat::DynamoTrace,
     R"({"timestamp":9,"event":{"schema":"dynamo.request.trace.v1","event_type":"tool_end"}})"
     "\n"
     R"({"timestamp":10,"event":{"event_type":"request_end","agent_context":{"session_id":"s"},)"
     R"("request":{"input_tokens":20,"output_tokens":3,"cached_tokens":16,)"
     R"("request_received_ms":1779163048815,"ttft_ms":1.5,"total_time_ms":20.25,)"
     R"("worker":{"prefill_worker_id":7587894923333011484,"prefill_dp_rank":0},)"
     R"("replay":{"trace_block_size":16,"input_length":20,)"
     R"("input_sequence_hashes":[18446744073709551615,2]}}}})"
     "\n"
     R"({"event_type":"request_end","request":{"input_tokens":5,"output_tokens":0,)"
     R"("request_received_ms":1779163048000,"replay":{"trace_block_size":16,)"
     R"("input_sequence_hashes":[4]}}})"
     "\n",
     2},
    {TraceFormat::LlmServingSim,
     R"({"input_toks":3,"output_toks":2,"arrival_time_ns":5,"input_tok_ids":[1,2,3],)"
     R"("output_tok_ids":[4,5]})"
     "\n"
     R"({"session_id":"s","arrival_time_ns":9,"sub_requests":[)"
     R"({"input_toks":1,"output_toks":1,"tool_duration_ns":4,"input_tok_ids":[1]},)"
     R"({"input_toks":2,"output_toks":1,"input_tok_ids":[1,2]}]})"
     "\n",
     3},
    {TraceFormat::Tair,
     R"({"instance_id":"i","timestamp_us":1704081600000000,"tokens":[],"keys":[-5,3],)"
     R"("query_type":"prefix_match","input_len":40,"output_len":2,"total_keys":[-5,3]})"
     "\n"
     R"({"instance_id":"i","timestamp_us":1704081600000001,"keys":[-5,3]})"
     "\n"
     R"({"instance_id":"j","timestamp_us":1704081600000002,"keys":[-5],"input_len":16,)"
     R"("output_len":0})"
     "\n",
     2},
    {TraceFormat::Octavo,
     R"({"octavo_trace":1,"block_size":16,"tail_ids":false,"workload":"x"})"
     "\n"
     R"({"time_ns":5,"input_tokens":40,"output_tokens":0,"session":3,"block_ids":[4,8]})"
     "\n"
     R"({"time_ns":6,"input_tokens":16,"output_tokens":1,"session":3,"delay_ns":4,"wait_for":[0],)"
     R"("priority":-1,"media":2,"cached_tokens":9,"worker":1,"block_ids":[4]})"
     "\n",
     2},
};

inline std::vector<FormatSample> format_samples() {
  return {std::begin(kFormatSamples), std::end(kFormatSamples)};
}

}  // namespace octavo::sim
