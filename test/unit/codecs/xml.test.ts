/** XML as JSON: encodings, hostile documents, and what a parser makes of anything. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { XmlDecoder } from '../../../host/codecs/xml/decoder.js';

const decoder = new XmlDecoder(null);
const decoded = (text: string | Uint8Array): string => Buffer.from(decoder.decode(Buffer.from(text))).toString();
const refused = (text: string | Uint8Array): string => {
  try {
    return `took it for ${decoded(text)}`;
  } catch (error) {
    return (error as Error).message;
  }
};

test('a document has the encoding that it names, or that its first bytes show', () => {
  const text = '<r><a>\u00fc\u20ac</a></r>';
  assert.is(decoded(text), '{"a":"\u00fc\u20ac"}');
  assert.is(decoded(Buffer.from(`\ufeff${text}`)), '{"a":"\u00fc\u20ac"}');
  assert.is(decoded(Buffer.from(`\ufeff${text}`, 'utf16le')), '{"a":"\u00fc\u20ac"}');
  assert.is(decoded(Buffer.from(`\ufeff${text}`, 'utf16le').swap16()), '{"a":"\u00fc\u20ac"}');
  const latin = '<?xml version="1.0" encoding="iso-8859-1"?><r>\u00fc</r>';
  assert.is(decoded(Buffer.from(latin, 'latin1')), '{"#text":"\u00fc"}');
  assert.is(refused('<?xml version="1.0" encoding="klingon"?><r/>'), 'its encoding klingon is not known');
  assert.is(refused(Buffer.from('<r>\u00fc</r>', 'latin1')), 'it has bytes that are not utf-8');
});

test('nothing grows out of small documents, nothing takes long', () => {
  const laughs = Array.from({ length: 10 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('');
  assert.match(refused(`<!DOCTYPE r [<!ENTITY l0 "ha">${laughs}]><r>&l10;</r>`), /declares the entity l0|entity/i);
  assert.match(
    refused('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>'),
    /entit|stands for nothing/i,
  );
  assert.match(refused('<r>&#0;</r>'), /stands for nothing/);
  assert.match(refused('<r>&#xd800;</r>'), /stands for nothing/);
  assert.match(refused('<r>&#x110000;</r>'), /stands for nothing/);
  assert.match(refused(`${'<a>'.repeat(1000)}${'</a>'.repeat(1000)}`), /nested/);
  assert.match(refused(`<r>${'<a/>'.repeat(300_000)}</r>`), /more than 200000 tags/);
  assert.match(refused(`<r>${'&amp;'.repeat(300_000)}</r>`), /more than 200000/);
});

test('names of JavaScript are names', () => {
  assert.is(
    decoded('<r><toString>1</toString><hasOwnProperty>2</hasOwnProperty></r>').includes('"toString":"1"'),
    true,
  );
  assert.match(refused('<r><__proto__>1</__proto__></r>'), /__proto__/);
});

test('any text gives JSON or a reason', () => {
  const part = fc.constantFrom(
    ...['<r>', '</r>', '<a b="1">', '</a>', '<a/>', 'x', '&amp;', '&', '<![CDATA[', ']]>', '<!--', '-->', '<?x', '?>'],
    ...['<!DOCTYPE', '[', '<!ENTITY a "b">', ']>', '"', "'", '=', ' ', '\n', '<', '>', '/', '\u0000', '\u00fc', '#'],
  );
  const soup = fc.array(part, { maxLength: 30 }).map((parts) => parts.join(''));
  const whole = soup.map((text) => `<r>${text}</r>`);
  fc.assert(
    fc.property(fc.oneof(soup, whole, fc.string()), (text) => {
      let json: string;
      try {
        json = decoded(text);
      } catch (error) {
        assert.not.instance(error, RangeError);
        return;
      }
      JSON.parse(json);
    }),
    { numRuns: 5000 },
  );
});

test.run();
