/** Colours of code, as classes: a page has no styles of its own, which its policy forbids. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../root.mjs';

/** Languages of fences by their names; all others are plain text. */
const languages = { sql: 'sql', json: 'json', sh: 'shellscript', yaml: 'yaml', ts: 'typescript', rust: 'rust' };
Object.assign(languages, { c: 'c', go: 'go', zig: 'zig', ini: 'ini', js: 'javascript', python: 'python' });

/** Classes of tokens by the colours of the theme, which stand for nothing else. */
const kinds = { '#000001': 'k', '#000002': 's', '#000003': 'n', '#000004': 'c', '#000005': 'f', '#000006': 'p' };
const scopes = {
  '#000001': ['keyword', 'storage'],
  '#000002': ['string'],
  '#000003': ['constant'],
  '#000004': ['comment'],
  '#000005': ['support.function', 'entity.name.function'],
  '#000006': ['support.type.property-name', 'entity.name.tag', 'variable.parameter'],
};
const theme = {
  name: 'guide',
  settings: [
    { settings: { foreground: '#000000', background: '#ffffff' } },
    ...Object.entries(scopes).map(([foreground, scope]) => ({ scope, settings: { foreground } })),
  ],
};

/** What was coloured before: the grammars take a second for all pages. */
const kept = join(root, 'node_modules/.cache/haumea/guide-code.json');

export const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Opens the colouring: `html(code, language)` gives the inside of a code element, `keep` writes what is new. */
export async function openHighlighter() {
  const version = JSON.parse(readFileSync(join(root, 'node_modules/shiki/package.json'), 'utf8')).version;
  const before = existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {};
  const known = before.version === version ? before.blocks : {};
  const used = {};
  let shiki;
  return {
    async html(code, language) {
      const name = languages[language];
      if (name === undefined) return escaped(code);
      const key = createHash('sha256').update(`${name}\n${code}`).digest('base64url').slice(0, 20);
      if (known[key] === undefined) {
        shiki ??= openShiki();
        known[key] = coloured(await shiki, code, name);
      }
      used[key] = await known[key];
      return used[key];
    },
    keep() {
      if (shiki === undefined) return;
      mkdirSync(dirname(kept), { recursive: true });
      writeFileSync(`${kept}.${process.pid}`, JSON.stringify({ version, blocks: used }));
      renameSync(`${kept}.${process.pid}`, kept);
    },
  };
}

async function openShiki() {
  const [{ createHighlighterCore }, { createOnigurumaEngine }] = await Promise.all([
    import('shiki/core'),
    import('shiki/engine/oniguruma'),
  ]);
  const langs = Object.values(languages).map(async (name) => (await import(`shiki/dist/langs/${name}.mjs`)).default);
  return createHighlighterCore({ themes: [theme], langs, engine: createOnigurumaEngine(import('shiki/wasm')) });
}

function coloured(shiki, code, name) {
  const { tokens } = shiki.codeToTokens(code, { lang: name, theme: 'guide', tokenizeTimeLimit: 0 });
  return tokens.map((line) => line.map(tokenHtml).join('')).join('\n');
}

function tokenHtml({ content, color }) {
  const kind = kinds[color];
  return kind === undefined ? escaped(content) : `<span class="${kind}">${escaped(content)}</span>`;
}
