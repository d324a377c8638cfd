/** The search of the guide: a dialog with what is found as it is typed. */
import MiniSearch from 'minisearch';
import { searchOptions } from '../search-fields.mjs';

const mostShown = 20;
let index;
let dialog;

function makeDialog() {
  const made = document.createElement('dialog');
  made.className = 'search';
  made.setAttribute('aria-label', 'Search');
  made.innerHTML = `<form method="dialog"><label class="hidden" for="words">Words</label>
<input id="words" type="search" placeholder="Words, functions, options" autocomplete="off" spellcheck="false">
<button>Close</button></form><p class="count" role="status"></p><ul></ul>`;
  const input = made.querySelector('input');
  input.addEventListener('input', () => show(input.value));
  made.addEventListener('keydown', move);
  made.addEventListener('click', (event) => {
    // A click beside the dialog, or on a result of the same page.
    if (event.target === made || event.target.closest('li a')) made.close();
  });
  made.querySelector('form').addEventListener('submit', (event) => {
    if (event.submitter !== null && document.activeElement !== input) return;
    event.preventDefault();
    made.querySelector('li a')?.click();
  });
  document.body.append(made);
  return made;
}

/** Arrows go through the results. */
function move(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const stops = [dialog.querySelector('input'), ...dialog.querySelectorAll('li a')];
  const at = stops.indexOf(document.activeElement);
  stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
}

function show(words) {
  const found = words.trim() === '' ? [] : index.search(words).slice(0, mostShown);
  const list = dialog.querySelector('ul');
  list.replaceChildren(...found.map(itemOf));
  const none = words.trim() === '' ? '' : 'Nothing is found';
  dialog.querySelector('.count').textContent = found.length === 0 ? none : `${found.length} results`;
}

function itemOf({ title, page, address, start }) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = window.haumeaIndex.base + address;
  const parts = [
    ['strong', title],
    ['span', title === page ? '' : page],
    ['small', start],
  ];
  for (const [tag, text] of parts) {
    const part = document.createElement(tag);
    part.textContent = text;
    link.append(part, ' ');
  }
  item.append(link);
  return item;
}

window.haumeaSearch = {
  open() {
    index ??= MiniSearch.loadJS(window.haumeaIndex.value, searchOptions);
    dialog ??= makeDialog();
    if (!dialog.open) dialog.showModal();
    dialog.querySelector('input').select();
  },
};
