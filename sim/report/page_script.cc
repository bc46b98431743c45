#include "page.h"

namespace octavo::sim::report {
namespace {

constexpr std::string_view kScript = R"(
'use strict';
(() => {
  const tip = document.getElementById('tip');
  let lit = null;

  const leave = () => {
    if (lit) lit.classList.remove('on');
    lit = null;
    tip.classList.remove('on');
  };

  // Row i of a figure's table is what mark i says.
  const show = (figure, marks, i) => {
    leave();
    const titles = figure.querySelectorAll('details th');
    const row = figure.querySelectorAll('details tbody tr')[i];
    lit = marks[i];
    lit.classList.add('on');
    const table = document.createElement('table');
    [...row.cells].forEach((cell, column) => {
      if (cell.textContent === '' || cell.textContent.length > 90) return;
      const line = table.insertRow();
      line.insertCell().textContent = titles[column].textContent;
      line.insertCell().textContent = cell.textContent;
    });
    tip.replaceChildren(table);
    const box = lit.getBoundingClientRect();
    const wide = tip.offsetWidth, high = tip.offsetHeight;
    const x = box.left + box.width / 2 - wide / 2;
    const above = box.top - high - 10;
    const y = above > 8 ? above : Math.min(box.bottom + 10, innerHeight - high - 8);
    tip.style.left = Math.max(8, Math.min(x, innerWidth - wide - 8)) + 'px';
    tip.style.top = Math.max(8, y) + 'px';
    tip.classList.add('on');
  };

  const distance = (mark, x, y) => {
    const box = mark.getBoundingClientRect();
    const dx = Math.max(box.left - x, 0, x - box.right);
    const dy = Math.max(box.top - y, 0, y - box.bottom);
    return dx * dx + dy * dy;
  };

  for (const figure of document.querySelectorAll('figure')) {
    const svg = figure.querySelector('svg');
    const marks = [...svg.querySelectorAll('.m')];
    if (marks.length === 0) continue;
    let at = -1;
    const point = (event) => {
      let best = Infinity;
      marks.forEach((mark, i) => {
        const far = distance(mark, event.clientX, event.clientY);
        if (far < best) { best = far; at = i; }
      });
      show(figure, marks, at);
    };
    svg.addEventListener('pointermove', point);
    svg.addEventListener('pointerdown', point);
    svg.addEventListener('pointerleave', leave);
    svg.addEventListener('blur', leave);
    svg.addEventListener('focus', () => {
      if (svg.matches(':focus-visible')) show(figure, marks, at = Math.max(at, 0));
    });
    svg.addEventListener('keydown', (event) => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (event.key === 'Escape') return leave();
      if (event.key === 'Home') at = 0;
      else if (event.key === 'End') at = marks.length - 1;
      else if (step) at = Math.max(0, Math.min(marks.length - 1, at + step));
      else return;
      event.preventDefault();
      show(figure, marks, at);
    });
  }
  addEventListener('scroll', leave, {passive: true});
})();
)";

}  // namespace

std::string_view page_script() {
  return kScript;
}

}  // namespace octavo::sim::report
