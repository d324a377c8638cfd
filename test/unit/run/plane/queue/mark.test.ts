/** Rows that are sent again have a member more, whatever their texts look like. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Item, itemOf } from '../../../../../host/run/plane/queue/item.js';
import { marked, memberOf } from '../../../../../host/run/plane/queue/mark.js';

function itemWith(texts: string[], framing: 'lines' | 'messages', errors: number[] = []): Item {
  const lines = framing === 'lines' ? texts.map((text) => `${text}\n`) : texts;
  const bytes = Buffer.from(lines.join(''));
  let end = 0;
  const ends = Uint32Array.from(lines, (text) => {
    end += Buffer.byteLength(text);
    return end;
  });
  const { length } = texts;
  const chunk = { node: 1, host: 1, bytes, messages: length, rows: length, errors: new Set(errors) };
  return itemOf({ ...chunk, ends: framing === 'lines' ? null : ends }, 0);
}

/** The messages of an item as texts. */
function textsOf({ bytes, ends }: Item): string[] {
  if (ends === null) return bytes.toString().split('\n').slice(0, -1);
  return [...ends].map((end, i) => bytes.toString('utf8', ends[i - 1] ?? 0, end));
}

const cases: [text: string, expected: string][] = [
  ['{"a":1}', '{"a":1,"again":true}'],
  ['{}', '{"again":true}'],
  ['[]', '[]'],
  ['[{"a":{"b":[{"c":1}]}},{}]', '[{"a":{"b":[{"c":1}]},"again":true},{"again":true}]'],
  ['[[{"a":1},{"a":2}],[{"a":3}]]', '[[{"a":1,"again":true},{"a":2,"again":true}],[{"a":3,"again":true}]]'],
  ['{"a":"}\\"{[é\\\\"}', '{"a":"}\\"{[é\\\\","again":true}'],
];

for (const framing of ['lines', 'messages'] as const) {
  test(`each row of ${framing} is marked, nothing else is`, () => {
    const item = itemWith(
      cases.map(([text]) => text),
      framing,
    );
    const again = marked(item, memberOf('again'));
    assert.equal(
      textsOf(again),
      cases.map(([, expected]) => expected),
    );
    for (const text of textsOf(again)) JSON.parse(text);
  });
}

test('the text of an error in the place of a message stays as it is', () => {
  const item = itemWith(['{"a":1}', '{"not a row', '{"a":2}'], 'messages', [1]);
  assert.equal(textsOf(marked(item, memberOf('x"y'))), ['{"a":1,"x\\"y":true}', '{"not a row', '{"a":2,"x\\"y":true}']);
});

test.run();
