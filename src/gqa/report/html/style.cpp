#include "gqa/report/html/style.hpp"

namespace gqa::html {

// Contrast of text and of the marks in pictures is at least 4.5 to 1 on its own ground.
std::string_view style() {
  return R"css(
:root{color-scheme:light dark;
--ground:#fcfbf9;--panel:#f3f1ec;--line:#d9d5cc;--text:#1f2226;--quiet:#5b6068;--link:#1d4f86;
--good:#1a6338;--bad:#9c2418;--open:#7a4d00;--broken:#6b2a7a;
--good-ground:#e8f3ec;--bad-ground:#fbeae7;--open-ground:#fbf2dd;--broken-ground:#f5eaf8;
--ink:#2c5f93;--ink-soft:#a9c3de;
--heat-0:#f1eee7;--heat-1:#dde6ec;--heat-2:#bcd2e2;--heat-3:#8fb4d1;--heat-4:#5f90b8;
--heat-5:#3d6c98;--heat-6:#274b74;--heat-7:#152c4b;--none:#ffffff}
@media (prefers-color-scheme:dark){:root{
--ground:#15181b;--panel:#1d2125;--line:#383e45;--text:#e6e4df;--quiet:#a5abb3;--link:#8fbdf0;
--good:#7fcf9b;--bad:#ff9c8e;--open:#ecc06a;--broken:#dca8ec;
--good-ground:#16291d;--bad-ground:#36191a;--open-ground:#2f2510;--broken-ground:#2c1a33;
--ink:#7fb2e5;--ink-soft:#35506d;
--heat-0:#23282d;--heat-1:#24384a;--heat-2:#2a4a66;--heat-3:#356389;--heat-4:#4a82ae;
--heat-5:#6fa5cf;--heat-6:#a3c9e8;--heat-7:#dceefb;--none:#15181b}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:66rem;background:var(--ground);
color:var(--text);font:1rem/1.55 "Source Sans 3","Segoe UI",system-ui,-apple-system,"Noto Sans",
"Liberation Sans",sans-serif;overflow-wrap:break-word}
h1,h2,h3,h4{line-height:1.25;font-weight:650;text-wrap:balance}
h1{font-size:1.9rem;letter-spacing:-.015em;margin:.1rem 0 1.1rem}
h2{font-size:1.35rem;margin:2.6rem 0 .8rem;padding-top:1.1rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:1.9rem 0 .5rem}
h4{font-size:1rem;margin:1.3rem 0 .4rem}
p{margin:.5rem 0;max-width:46rem}
a{color:var(--link);text-underline-offset:.15em}
a:focus-visible,summary:focus-visible,.scroll:focus-visible,main:focus-visible{
outline:3px solid var(--link);outline-offset:2px;border-radius:2px}
main:focus{outline-offset:.5rem}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:.5rem;background:var(--ground);padding:.4rem .8rem;z-index:1}
.product{margin:0;color:var(--quiet);font-size:.9rem;letter-spacing:.02em;font-weight:600}
.product span{font-weight:400}
.banner{border-left:.4rem solid;padding:.8rem 1.1rem;border-radius:.2rem}
.banner p{margin:.2rem 0}
.verdict{font-size:1.5rem;line-height:1.3}
.verdict .mark{margin-right:.5rem;font-weight:700}
.banner.good{background:var(--good-ground);border-color:var(--good)}
.banner.bad{background:var(--bad-ground);border-color:var(--bad)}
.banner.open{background:var(--open-ground);border-color:var(--open)}
.banner.broken{background:var(--broken-ground);border-color:var(--broken)}
.good .verdict{color:var(--good)}.bad .verdict{color:var(--bad)}
.open .verdict{color:var(--open)}.broken .verdict{color:var(--broken)}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;padding:0;margin:1.2rem 0 0;list-style:none;
font-size:.95rem}
.badge{white-space:nowrap;font-weight:600}
.badge.good{color:var(--good)}.badge.bad{color:var(--bad)}
.badge.open{color:var(--open)}.badge.broken{color:var(--broken)}
.mark{display:inline-block;min-width:1em}
code,pre,.index,.outputs,.formula{font-family:"Source Code Pro",ui-monospace,"SF Mono",Menlo,Consolas,
"Liberation Mono",monospace;font-size:.9em}
code{overflow-wrap:anywhere}td code,th code{overflow-wrap:normal}
.scroll{overflow-x:auto;margin:.9rem 0}
table{border-collapse:collapse;font-size:.93rem;line-height:1.4;min-width:100%}
caption{text-align:left;color:var(--quiet);padding:0 0 .45rem;font-size:.9rem;
max-width:min(60rem,calc(100vw - 3rem))}
th,td{text-align:left;vertical-align:top;padding:.4rem 1.1rem .4rem 0;
border-bottom:1px solid var(--line)}
th:last-child,td:last-child{padding-right:0}
thead th{font-weight:600;color:var(--quiet);font-size:.85rem;border-bottom-color:var(--quiet)}
tbody th{font-weight:500}
td:not(.prose):not(.number)>bdi{overflow-wrap:anywhere}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.prose{min-width:15rem}.name{min-width:18rem}
th button{all:unset;cursor:pointer;text-decoration:underline dotted;text-underline-offset:.25em}
th button:focus-visible{outline:3px solid var(--link);outline-offset:2px}
th[aria-sort=ascending] button::after{content:" \25B2"}
th[aria-sort=descending] button::after{content:" \25BC"}
.paper{display:none;color:var(--quiet)}
.index{white-space:nowrap}
tbody tr:hover{background:var(--panel)}
dl{display:grid;gap:0;margin:.6rem 0}
dl div{display:grid;grid-template-columns:11rem 1fr;gap:1rem;padding:.3rem 0;
border-bottom:1px solid var(--line)}
dt{color:var(--quiet)}dd{margin:0}
details{border:1px solid var(--line);border-radius:.35rem;margin:.6rem 0;background:var(--ground)}
summary{cursor:pointer;padding:.6rem .9rem;font-weight:550}
summary:hover{background:var(--panel)}
details[open]>summary{border-bottom:1px solid var(--line)}
.fold{padding:.3rem 1rem 1rem}
.fold>h3:first-child{margin-top:.8rem}
.case{margin:.45rem 0}
.case>details>summary .where{color:var(--quiet);font-weight:400}
.fault{border-left:.25rem solid var(--bad);padding:.15rem 0 .15rem 1rem;margin:.9rem 0}
.fault p{margin:.15rem 0}
.fault .slug{font-weight:650}

td .formula{margin:.15rem 0 .35rem}
.formula{background:var(--panel);padding:.35rem .6rem;border-radius:.25rem;display:inline-block;
overflow-wrap:anywhere}
.or{color:var(--quiet);font-style:italic;margin-left:1rem}
.quiet{color:var(--quiet)}
.pictures{display:flex;flex-wrap:wrap;gap:.5rem 2.5rem;align-items:flex-start}
.pictures>*{max-width:100%}
.pictures>div{flex:0 1 28rem}
figure{margin:1rem 0;max-width:100%}
figcaption{color:var(--quiet);font-size:.9rem;max-width:46rem;margin-top:.35rem}
svg{display:block}
svg text{fill:var(--text);font-size:12px}
svg .quiet{fill:var(--quiet)}
svg .axis{stroke:var(--quiet);stroke-width:1;fill:none}
svg .rule{stroke:var(--line);stroke-width:1;fill:none}
svg .bar{fill:var(--ink)}svg .bar.beyond{fill:var(--bad)}
svg .band{fill:var(--open);opacity:.2}svg .band.worst{fill:var(--bad);opacity:.16}
svg .edge{stroke:var(--open);stroke-width:1.5;stroke-dasharray:5 3;fill:none}
svg .edge.worst{stroke:var(--bad);stroke-dasharray:none}
svg .wire{stroke:var(--ink);stroke-width:1.6;fill:none}
svg .wire.differs{stroke:var(--bad);stroke-width:2.6;stroke-dasharray:6 3}
svg .node{fill:var(--ground);stroke:var(--ink);stroke-width:1.6}
svg .node.differs{stroke:var(--bad);stroke-width:2.6}
svg .seen{fill:var(--ink)}svg .partly{fill:var(--ink-soft);stroke:var(--ink);stroke-width:1}
svg .hidden{fill:var(--none);stroke:var(--line);stroke-width:1}
svg .extra{fill:var(--bad)}
svg .missing{fill:var(--bad-ground);stroke:var(--bad);stroke-width:1.5}
svg .onextra{fill:var(--ground);font-weight:700;font-size:11px}
svg .onmissing{fill:var(--bad);font-weight:700;font-size:11px}
svg .violation{fill:#000000;stroke:#ffffff;stroke-width:1.5;paint-order:stroke}
svg .title{fill:var(--quiet);font-size:11.5px;font-style:italic}
svg .cross{stroke:var(--bad);stroke-width:2;fill:none}
svg .h0{fill:var(--heat-0)}svg .h1{fill:var(--heat-1)}svg .h2{fill:var(--heat-2)}
svg .h3{fill:var(--heat-3)}svg .h4{fill:var(--heat-4)}svg .h5{fill:var(--heat-5)}
svg .h6{fill:var(--heat-6)}svg .h7{fill:var(--heat-7)}
svg .differs-text{fill:var(--bad);font-weight:650}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--quiet);
font-size:.88rem}
@media (max-width:40rem){body{padding:1.2rem .9rem 3rem}h1{font-size:1.5rem}
dl div{grid-template-columns:1fr;gap:0}.fold{padding:.2rem .7rem .8rem}
.prose{min-width:13rem}.name{min-width:11rem}
.scroll{background:linear-gradient(90deg,var(--ground) 40%,transparent) left/2.5rem 100% no-repeat local,
linear-gradient(270deg,var(--ground) 40%,transparent) right/2.5rem 100% no-repeat local,
linear-gradient(90deg,var(--line),transparent) left/.5rem 100% no-repeat scroll,
linear-gradient(270deg,var(--line),transparent) right/.5rem 100% no-repeat scroll}}
.filter{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;border:0;padding:0;margin:.8rem 0 0;font-size:.95rem}
.filter legend{float:left;margin-right:.4rem;padding:0;color:var(--quiet)}
.filter label{cursor:pointer}
body:has(#show-pass:checked) tr[class^=v-]:not(.v-pass),
body:has(#show-fail:checked) tr[class^=v-]:not(.v-fail),
body:has(#show-undecided:checked) tr[class^=v-]:not(.v-undecided),
body:has(#show-error:checked) tr[class^=v-]:not(.v-error){display:none}
@media print and (prefers-color-scheme:light){:root{--ground:#ffffff}}
@media print{@page{margin:14mm}
body{max-width:none;padding:0;font-size:10.5pt}.skip,nav,.filter{display:none}
.scroll{overflow:visible}svg{max-width:100%;height:auto}
details{border:0;margin:0}details>*{display:block}
details::details-content{display:block;content-visibility:visible;block-size:auto;opacity:1}
summary{padding-left:0}.fold{padding:0 0 .6rem}
table{font-size:8.5pt;min-width:0;width:100%}th,td{padding-right:.6rem;overflow-wrap:anywhere}
thead th{overflow-wrap:normal}th button{display:contents}
.index,.number{white-space:normal}.prose,.name{min-width:0}caption{max-width:none}
dl{display:block}dl div{display:block;break-inside:avoid}
dt,dd{display:inline-block;vertical-align:top}dt{width:11rem}dd{width:calc(100% - 12rem)}
.pictures{display:block}.pictures>figure{display:inline-block;vertical-align:top;max-width:48%}
.quiet:has(+.pictures){break-after:avoid}
.paper{display:block}.failures-on-paper .d-pass{display:none}
figure,tr,.fault,.banner{break-inside:avoid}h2,h3,h4,summary{break-after:avoid}}
)css";
}

}  // namespace gqa::html
