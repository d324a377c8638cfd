/** CSV as files have it: what is a record, a field and a name, under any chunking. */
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type CsvConf, CsvSplitter } from '../../../../host/connectors/file/reading/csv-splitter.js';

type Row = [name: string, text: string][];

function rowOf(record: Uint8Array): Row {
  const bytes = Buffer.from(record);
  const row: Row = [];
  for (let at = 0; at < bytes.length; ) {
    const name = at + 4;
    const text = name + bytes.readUInt32LE(at) + 4;
    const end = text + bytes.readUInt32LE(text - 4);
    row.push([bytes.toString('utf8', name, text - 4), bytes.toString('utf8', text, end)]);
    at = end;
  }
  return row;
}

function rowsOf(text: string, conf: Partial<CsvConf> = {}, cuts: readonly number[] = [], failures: string[] = []) {
  const splitter = new CsvSplitter({ hasHeader: false, delimiter: ',', ...conf }, (reason) => failures.push(reason));
  const rows: Row[] = [];
  const bytes = Buffer.from(text);
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    // As a reader does, the memory of a chunk is used again.
    const chunk = Buffer.from(bytes.subarray(at, at + cut));
    for (const record of splitter.add(chunk)) rows.push(rowOf(record));
    chunk.fill(0x21);
    at = Math.min(bytes.length, at + cut);
  }
  for (const record of splitter.end()) rows.push(rowOf(record));
  return rows;
}

const values = (rows: readonly Row[]) => rows.map((row) => row.map(([, text]) => text));

test('fields have the names of columns or header, or numbers', () => {
  assert.equal(rowsOf('1,a\n2,b\n'), [
    [
      ['cols0', '1'],
      ['cols1', 'a'],
    ],
    [
      ['cols0', '2'],
      ['cols1', 'b'],
    ],
  ]);
  assert.equal(rowsOf('1,a', { columns: ['id', 'name'] }), [
    [
      ['id', '1'],
      ['name', 'a'],
    ],
  ]);
  const header = rowsOf('"id", näme\n1,a\n', { hasHeader: true, columns: ['x', 'y'] });
  assert.equal(header, [
    [
      ['id', '1'],
      ['näme', 'a'],
    ],
  ]);
});

test('a record with fewer fields lacks the last ones, one with more has those that are named', () => {
  const rows = rowsOf('1\n1,2,3\n', { columns: ['a', 'b'] });
  assert.equal(
    rows.map((row) => row.map(([name]) => name)),
    [['a'], ['a', 'b']],
  );
});

test('quotes hold delimiters, line feeds and doubled quotes; space before a field is no part of it', () => {
  const text = 'a, "b,\n""c""" ,\t d \r\n\r\n\n,"",x\n';
  assert.equal(values(rowsOf(text)), [
    ['a', 'b,\n"c" ', 'd '],
    ['', '', 'x'],
  ]);
});

test('another delimiter: blanks of a table, tabs with empty fields', () => {
  assert.equal(values(rowsOf('1  John 56\n', { delimiter: ' ' })), [['1', 'John', '56']]);
  assert.equal(values(rowsOf('1\t\t56\n', { delimiter: '\t' })), [['1', '', '56']]);
  assert.equal(values(rowsOf('1;"a;b";\n', { delimiter: ';' })), [['1', 'a;b', '']]);
});

test('a quote where none is due is text, one that is not closed is told', () => {
  assert.equal(values(rowsOf('a"b"c,"d"e\nf,g\n')), [
    ['a"b"c', 'de'],
    ['f', 'g'],
  ]);
  const failures: string[] = [];
  assert.equal(values(rowsOf('a,"b\nc,d\n', {}, [], failures)), [['a', 'b\nc,d\n']]);
  assert.match(failures.join(), /quote that is not closed/);
  const without: string[] = [];
  rowsOf('', { hasHeader: true }, [], without);
  assert.match(without.join(), /no header/);
});

test('what was written as CSV is read again, however it is cut', () => {
  const field = fc.stringMatching(/^[a-z ",\n\r\tä"]*$/);
  const written = (text: string) => `"${text.replaceAll('"', '""')}"`;
  fc.assert(
    fc.property(
      fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
      fc.array(fc.nat(9)),
      fc.boolean(),
      fc.boolean(),
      (rows, cuts, hasReturns, isOpen) => {
        const end = hasReturns ? '\r\n' : '\n';
        const lines = rows.map((row) => row.map(written).join(','));
        const text = lines.join(end) + (isOpen ? '' : end);
        assert.equal(values(rowsOf(text, {}, cuts)), rows);
      },
    ),
    { numRuns: 500 },
  );
});

test.run();
