#include "page.h"

namespace octavo::sim::report {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--paper:#fbfaf8;--card:#fff;--ink:#1c1d1f;--quiet:#5b5f66;
--rule:#e3e1dc;--grid:#ecebe7;--good:#00694b;--good-paper:#e2f3ec;--bad:#a83200;
--bad-paper:#fbe8df;
--c0:#0072b2;--c1:#d98200;--c2:#009e73;--c3:#d55e00;--c4:#56b4e9;--c5:#b8578f;--c6:#8a7f00;
--c7:#8d9096;--on:#fff;--l1:#a06000;--l2:#007a59;--l3:#b54f00;--l4:#1f77ad;--l7:#5b5f66}
@media (prefers-color-scheme:dark){:root{--paper:#141517;--card:#1c1e21;--ink:#eceae6;
--quiet:#a5a9b0;--rule:#33363b;--grid:#2a2d31;--good:#5fd3ad;--good-paper:#12372c;--bad:#ff9a6b;
--bad-paper:#43210f;--c0:#4ba6de;--c1:#f0ad2e;--c2:#21b98d;--c3:#f07b2b;--c4:#8fd0f7;--c5:#dd93bd;
--c6:#e0d64a;--c7:#8a8e96;--on:#141517;--l1:#f0ad2e;--l2:#3fcfa5;--l3:#ff9350;--l4:#8fd0f7;
--l7:#a5a9b0}}
.s0{--c:var(--c0);--l:var(--c0)}.s1{--c:var(--c1);--l:var(--l1)}.s2{--c:var(--c2);--l:var(--l2)}
.s3{--c:var(--c3);--l:var(--l3)}.s4{--c:var(--c4);--l:var(--l4)}.s5{--c:var(--c5);--l:var(--c5)}
.s6{--c:var(--c6);--l:var(--c6)}.s7{--c:var(--c7);--l:var(--l7)}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:40px 20px 64px}
h1{font-size:1.7rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 4px;font-weight:650}
h2{font-size:1.25rem;margin:0 0 4px;letter-spacing:-.01em;font-weight:650}
h3{font-size:1rem;margin:0;font-weight:600}
p{margin:4px 0}h1,h2,h3,p,li,dt,figcaption{overflow-wrap:anywhere}
section{margin-top:44px;padding-top:20px;border-top:1px solid var(--rule)}
.setup,.quiet,.sources,figcaption p{color:var(--quiet);font-size:.9rem}
.verdict{margin:12px 0}
.badge{display:inline-block;padding:1px 10px;border-radius:99px;font-weight:600;margin-right:6px}
.good{color:var(--good);background:var(--good-paper)}.bad{color:var(--bad);
background:var(--bad-paper)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:16px;
margin:18px 0 22px}
.tile{display:flex;flex-direction:column;padding-left:12px;border-left:2px solid var(--rule)}
.tile dd{margin:0;font-size:1.7rem;line-height:1.2;font-weight:600;letter-spacing:-.02em}
.tile dt{color:var(--quiet);font-size:.88rem}.tile small{display:block;font-size:.82rem}
figure,.card{margin:0;padding:18px;background:var(--card);border:1px solid var(--rule);
border-radius:10px;min-width:0}
.figures,.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));
gap:16px;margin-top:16px}
figure.wide{margin-top:16px}figure.wide svg.chart{max-width:720px;margin-inline:auto}
figcaption{margin-bottom:10px}
svg{display:block;width:100%;overflow:visible;border-radius:4px}
svg.bar{height:70px}svg.chart{height:auto}
svg:focus-visible,summary:focus-visible{outline:2px solid var(--c0);outline-offset:4px}
svg text{font-size:13px;fill:var(--quiet)}svg .label{fill:var(--l);font-weight:600}
.grid{stroke:var(--grid)}.base{stroke:var(--quiet);stroke-opacity:.6}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.dash{stroke-dasharray:6 4}
.band{fill:var(--c);fill-opacity:.16}.area{fill:var(--c);fill-opacity:.85}
.area.s7,.swatch.s7{opacity:.35}
.dot{fill:var(--c);stroke:var(--card);stroke-width:1}
.ring{fill:var(--card);stroke:var(--c);stroke-width:2}
.dot.on,.ring.on{stroke:var(--ink);stroke-width:2.5;stroke-opacity:1}
.column{fill:transparent}.column.on{fill:var(--ink);fill-opacity:.28}
.part{fill:var(--c);stroke:var(--card);stroke-width:2}.part.on{stroke:var(--ink);stroke-width:3}
.part.s7{fill-opacity:.35}
svg text.inside{fill:var(--on);font-weight:600;font-size:13px;pointer-events:none}
svg text.inside.s7{fill:var(--ink)}svg text.inside.s1{fill:#1c1d1f}
.marker,.limit{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 3}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:8px 0 0;padding:0;
color:var(--quiet);font-size:.88rem}
.legend b{color:var(--ink);font-weight:600;white-space:nowrap}
.swatch{display:inline-block;width:11px;height:11px;border-radius:3px;background:var(--c);
margin-right:7px}
.leader{stroke:var(--c);stroke-opacity:.45}
details{margin-top:10px;font-size:.88rem}summary{cursor:pointer;color:var(--quiet)}
.scroll{overflow-x:auto;max-height:420px;overflow-y:auto;margin-top:6px}
table{border-collapse:collapse;font-size:.88rem;width:100%}
th,td{padding:5px 14px 5px 0;text-align:right;vertical-align:top;
border-bottom:1px solid var(--grid)}
th:last-child,td:last-child{padding-right:2px}
th{color:var(--quiet);font-weight:500;vertical-align:bottom}th.t,td.t{text-align:left}
.equations .scroll{max-height:none}
.equations td:nth-child(1){font-weight:600}
.equations td:nth-child(3){font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;
font-size:.82rem}
.equations td:nth-child(4){color:var(--quiet)}
.remarks{color:var(--quiet);font-size:.9rem;padding-left:20px;margin:16px 0 0;max-width:80ch}
footer{margin-top:44px;padding-top:14px;border-top:1px solid var(--rule)}
.sources{list-style:none;margin:0;padding:0;overflow-wrap:anywhere}
#tip{position:fixed;z-index:9;pointer-events:none;background:var(--ink);color:var(--paper);
border-radius:6px;padding:8px 12px;font-size:.84rem;line-height:1.45;max-width:min(340px,90vw);
visibility:hidden}
#tip.on{visibility:visible}#tip table{width:auto;font-size:inherit}
#tip td{border:0;padding:0 12px 0 0;text-align:left}#tip td+td{font-weight:600;padding:0}
@media (max-width:640px){main{padding:24px 14px 48px}figure,.card{padding:14px 12px}
svg.chart text{font-size:17px}.tile dd{font-size:1.45rem}
.tiles{grid-template-columns:repeat(2,1fr)}}
@media print{details,#tip{display:none}figure,.card{break-inside:avoid}}
)";

}  // namespace

std::string_view page_style() {
  return kStyle;
}

}  // namespace octavo::sim::report
