/** Pages from markdown: headings with names, tables that scroll, coloured code, links that stay within the guide. */
import MarkdownIt from 'markdown-it';
import { slugger } from '../anchors.mjs';
import { addressOf, targetOf, wayTo } from './addresses.mjs';
import { caseHtml } from './cases.mjs';
import { escaped } from './highlight.mjs';

/**
 * Renders the markdown of a source. Returns the HTML, the title, the headings, and the plain text by headings; names of
 * sources that are linked go to `linked`, `texts` has all pages by their sources.
 */
export async function renderPage(source, text, { highlighter, linked, texts }) {
  const address = addressOf(source);
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const env = { code: new Map() };
  const tokens = markdown.parse(text.replace(/^<!--.*?-->\n*/s, ''), env);
  const headings = nameHeadings(tokens);
  for (const token of tokens.flatMap((one) => [one, ...(one.children ?? [])])) {
    if (token.attrGet?.('style')?.endsWith('right')) Object.assign(token, { attrs: [['class', 'right']] });
    if (token.type === 'link_open') relink(token, source, address, { linked, texts });
    if (token.type === 'fence') env.code.set(token, await fenceHtml(token, address, highlighter));
  }
  Object.assign(markdown.renderer.rules, {
    fence: (all, i) => env.code.get(all[i]),
    table_open: () => '<div class="scroll"><table>\n',
    table_close: () => '</table></div>\n',
    heading_close: (all, i) => `${anchorLink(all[i - 2])}</${all[i].tag}>\n`,
  });
  return {
    source,
    address,
    title: headings.find(({ level }) => level === 1)?.text ?? source,
    headings,
    sections: sectionsOf(tokens),
    html: markdown.renderer.render(tokens, markdown.options, env),
  };
}

/** Gives headings their names; returns them in order. */
function nameHeadings(tokens) {
  const nameOf = slugger();
  return tokens.flatMap((token, i) => {
    if (token.type !== 'heading_open') return [];
    const text = plainText(tokens[i + 1]);
    const id = nameOf(text);
    token.attrSet('id', id);
    return [{ level: Number(token.tag.slice(1)), id, text }];
  });
}

function plainText(inline) {
  return (inline.children ?? []).map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('');
}

/** A way to take the address of a heading; the first one has that of the page. */
function anchorLink(open) {
  if (open.tag === 'h1') return '';
  return ` <a class="anchor" href="#${open.attrGet('id')}" aria-label="Link to this section">#</a>`;
}

function relink(token, source, address, { linked, texts }) {
  const link = token.attrGet('href');
  if (/^[a-z]+:/.test(link)) {
    token.attrSet('rel', 'noreferrer');
    return;
  }
  const target = targetOf(source, decodeURI(link), texts);
  linked.add(target.source);
  token.attrSet('href', wayTo(address, addressOf(target.source), target.anchor));
}

/** The texts of a page by the headings that they stand below, for the search; `above` is the heading one level up. */
function sectionsOf(tokens) {
  const sections = [];
  const above = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const level = Number(token.tag.slice(1));
      const title = plainText(tokens[i + 1]);
      above.length = level;
      above[level] = title;
      sections.push({ id: token.attrGet('id'), title, above: level > 2 ? above[level - 1] : undefined, texts: [] });
    } else if (token.type === 'inline' && tokens[i - 1]?.type !== 'heading_open')
      sections.at(-1)?.texts.push(plainText(token));
    else if (token.type === 'fence') sections.at(-1)?.texts.push(token.content);
  }
  return sections.map(({ texts, ...section }) => ({ ...section, text: texts.join(' ') }));
}

/** The language of a fence that names none, by its first words. */
function guessed(code) {
  if (/^(curl|npx|npm|haumea|node|mosquitto_\w+|docker|source|sudo|apt|KUIPER__\w+=) ?/m.test(code)) return 'sh';
  if (/^\s*[[{]/.test(code)) return 'json';
  if (/^(SELECT|CREATE)\b/.test(code)) return 'sql';
  if (/^(GET|PUT|POST|PATCH|DELETE) \//.test(code)) return 'requests';
  return '';
}

async function fenceHtml({ info, content }, address, highlighter) {
  const [language = '', name] = info.trim().split(' ');
  if (language === 'case') return caseHtml(content, address, highlighter);
  const shown = language === '' ? guessed(content) : language;
  const code = content.replace(/\n$/, '');
  const html = shown === 'requests' ? await requestsHtml(code, highlighter) : await highlighter.html(code, shown);
  const title = name === undefined ? '' : `<div class="name">${escaped(name)}</div>`;
  return `<div class="code">${title}<pre><code>${html}</code></pre></div>\n`;
}

/** Requests as lines of method and path, with bodies of JSON below. */
async function requestsHtml(code, highlighter) {
  const parts = code.split(/^((?:GET|PUT|POST|PATCH|DELETE) .*)$/m);
  const html = parts.map((part, i) => {
    if (i % 2 === 0) return highlighter.html(part, 'json');
    const [method, ...path] = part.split(' ');
    return `<span class="k">${method}</span> <span class="s">${escaped(path.join(' '))}</span>`;
  });
  return (await Promise.all(html)).join('');
}
