/** The frame of each page: way to the parts of the guide, the text, and what stands on the page. */
import { addressOf, wayTo } from './addresses.mjs';
import { escaped } from './highlight.mjs';

/** Headings in the list beside a page. */
const deepest = 3;

/** Returns what makes the HTML of a page. `parts` are those of the navigation with pages resolved. */
export function layout({ parts, assets, icon }) {
  const order = parts.flatMap(({ pages }) => pages);
  return ({ address, title, headings, html, up }) => {
    const here = up ?? address;
    const to = (target) => escaped(wayTo(address, target));
    const at = order.findIndex((one) => one.address === address);
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Haumea</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<link rel="stylesheet" href="${to(assets.style)}">
<script src="${to(assets.script)}" data-search="${to(assets.search)}" data-index="${to(assets.index)}"></script>
</head>
<body>
<a class="skip" href="#guide-text">To the text</a>
<header class="top">
<button type="button" class="menu" aria-expanded="false" aria-controls="guide-parts" hidden>Menu</button>
<a class="brand" href="${to('index.html')}">${icon}<span>Haumea <small>Guide</small></span></a>
<button type="button" class="find" hidden>Search <kbd>/</kbd></button>
<label class="theme" hidden><span class="hidden">Colours</span><select>
<option value="auto">As the system</option><option value="light">Light</option><option value="dark">Dark</option>
</select></label>
<a class="console" href="${to('../console')}/">Console</a>
</header>
<div class="frame">
<nav class="parts" id="guide-parts" aria-label="Guide">${partsHtml(parts, here, to)}</nav>
<main id="guide-text" tabindex="-1">
<article>
${html}</article>
${besidesHtml(order[at - 1], at < 0 ? undefined : order[at + 1], to)}
</main>
${contentsHtml(headings)}
</div>
</body>
</html>
`;
  };
}

function partsHtml(parts, here, to) {
  return parts
    .map(({ title, pages }) => {
      const links = pages.map(({ address, name }) => {
        const current = address === here ? ' aria-current="page"' : '';
        return `<li><a href="${to(address)}"${current}>${escaped(name)}</a></li>`;
      });
      return `<h2>${escaped(title)}</h2><ul>${links.join('')}</ul>`;
    })
    .join('\n');
}

function besidesHtml(before, after, to) {
  if (before === undefined && after === undefined) return '';
  const link = (page, word, rel) =>
    page === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${to(page.address)}"><small>${word}</small> ${escaped(page.name)}</a>`;
  const links = link(before, 'Before', 'prev') + link(after, 'Next', 'next');
  return `<nav class="besides" aria-label="Pages beside this one">${links}</nav>`;
}

function contentsHtml(headings) {
  const shown = headings.filter(({ level }) => level > 1 && level <= deepest);
  if (shown.length < 2) return '<div></div>';
  const links = shown.map(({ level, id, text }) => `<li class="h${level}"><a href="#${id}">${escaped(text)}</a></li>`);
  const list = `<nav aria-label="On this page"><ul>${links.join('')}</ul></nav>`;
  return `<details class="contents"><summary>On this page</summary>${list}</details>`;
}

/** The pages of the navigation with their addresses and names; `titles` has those of sources. */
export function resolved(parts, titles) {
  return parts.map(({ title, pages }) => ({
    title,
    pages: pages.map((page) => {
      const [source, name] = [page].flat();
      return { source, address: addressOf(source), name: name ?? titles.get(source) };
    }),
  }));
}
