/** The guide as it was built: links lead somewhere, all of it comes from the server itself, at any place. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const folder = fileURLToPath(new URL('../../../dist/docs/', import.meta.url));
const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
const listed = (of: string) => readdirSync(of, { recursive: true, encoding: 'utf8' });
const pages = new Map(
  listed(folder)
    .filter((path) => path.endsWith('.html'))
    .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
);

const unescaped = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
const idsOf = new Map(
  [...pages].map(([path, html]) => [path, [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)]),
);

test('each text of docs/ is a page', () => {
  const missing = listed(docs)
    .filter((path) => path.endsWith('.md'))
    .map((path) => path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html'))
    .filter((path) => !pages.has(path));
  assert.equal(missing, []);
});

test('links, scripts and styles of all pages lead to files of the guide, and to places that are there', () => {
  const dead: string[] = [];
  for (const [path, html] of pages) {
    for (const [, address = ''] of html.matchAll(/ (?:href|src|data-\w+)="([^"]*)"/g)) {
      const link = unescaped(address);
      if (/^(https?|data):/.test(link) || /^(\.\.\/)+console\//.test(link)) continue;
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : join(dirname(path), file);
      const isThere = existsSync(join(folder, target)) && /\.\w+$/.test(target);
      if (!isThere || (anchor !== undefined && !idsOf.get(target)?.includes(decodeURIComponent(anchor))))
        dead.push(`${path}: ${link}`);
    }
  }
  assert.equal(dead, []);
});

test('names of places are there once in a page', () => {
  const wrong = [...idsOf].flatMap(([path, ids]) =>
    ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `${path}: ${id}`),
  );
  assert.equal(wrong, []);
});

test('the example of each function opens in the playground', () => {
  let count = 0;
  for (const [path, html] of pages) {
    if (!/^functions[\\/]/.test(path)) continue;
    for (const example of html.split('<div class="code case">').slice(1)) {
      count++;
      assert.match(
        example.split('</div>\n', 1).join(''),
        /<a class="run" href="[^"]*#\/playground\?sql=[^"]+rows=/,
        path,
      );
    }
  }
  assert.ok(count > 200, `${count} examples`);
});

test('links to the console lead out of the guide by one step, wherever the page is', () => {
  for (const [path, html] of pages) {
    const up = '../'.repeat(path.split(/[\\/]/).length);
    const links = [...html.matchAll(/href="((?:\.\.\/)*console\/[^"]*)"/g)].map(([, link = '']) => link);
    assert.ok(links.length > 0, path);
    for (const link of links) assert.ok(link.startsWith(`${up}console/`), `${path}: ${link.slice(0, 40)}`);
  }
});

test('pages have no styles and scripts of their own, which the policy of the server forbids', () => {
  for (const [path, html] of pages) {
    assert.not.match(html, /<\w[^<>]* (?:style|on\w+)="|<style|<script(?![^>]* src=)/, path);
    assert.match(html, /<html lang="en">/);
    assert.is(html.match(/<h1[ >]/g)?.length, 1, `${path} has one title`);
  }
});

test.run();
