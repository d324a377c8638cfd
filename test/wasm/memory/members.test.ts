/** Members of columns that are objects: those are decoded that some rule of the stream reads. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ColumnType, type ColumnUse, col, type OutputPlan } from '../../../kernels/plan/ir.js';
import { useSameColumns } from '../../../kernels/streams/copy.js';
import { type Driver, drive, encode, linked } from '../../support/kernel/drive.js';
import { lines } from '../../support/kernel/streams.js';

const text = { type: 'string' } as const;
const whole: ColumnType = {
  type: 'struct',
  fields: ['x', 'y', 'z'].map((name) => ({ name, type: text })),
};

/** A rule's use of the column `o`, of which it reads these members. */
const reading = (...names: string[]): ColumnUse[] => {
  const fields = names.map((name) => ({ name, type: text }));
  const read = names.length === 0 ? {} : { read: { type: 'struct', fields } as const };
  return [{ kind: 'field', name: 'o', type: whole, ...read }];
};

const shape: OutputPlan['shape'] = { kind: 'object', operand: col(0) };

/** Sends the column as it is decoded. */
function shown(driver: Driver, stream: number): (message: string) => string[] {
  const sink = driver.kernel.addNode({ stream }, linked(encode({}, { shape, sendError: true })));
  return (message) => {
    const before = driver.of(sink).length;
    driver.feed(stream, `${message}\n`);
    return driver.of(sink).slice(before);
  };
}

const message = '{"o":{"x":"1","y":"2","z":"3"}}';
const bad = '{"o":{"x":"1","y":{},"z":"3"}}';

test('a column has the members that some rule reads, and those alone', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  assert.equal(kernel.useColumns(stream, reading('x')), [0]);
  const sent = shown(driver, stream);
  assert.equal(sent(message), ['{"x":"1"}']);
  assert.equal(sent(bad), ['{"x":"1"}']);
  assert.equal(kernel.useColumns(stream, reading('z', 'y')), [0]);
  assert.equal(sent(message), ['{"x":"1","y":"2","z":"3"}']);
  assert.equal(sent(bad), ['y has wrong type:object, expect:string']);
  assert.equal(kernel.useColumns(stream, reading('x')), [0]);
  kernel.releaseColumns(stream, [0], reading('z', 'y'));
  assert.equal(sent(message), ['{"x":"1"}']);
  assert.equal(sent(bad), ['{"x":"1"}']);
  kernel.releaseColumns(stream, [0], reading('x'));
  assert.equal(sent(bad), ['{"x":"1"}']);
});

test('whoever reads all of it gets all of it, before and after those that do not', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, reading());
  const sent = shown(driver, stream);
  assert.equal(kernel.useColumns(stream, reading('x')), [0]);
  assert.equal(sent(message), ['{"x":"1","y":"2","z":"3"}']);
  kernel.releaseColumns(stream, [0], reading());
  assert.equal(sent(message), ['{"x":"1"}']);
  assert.equal(kernel.useColumns(stream, reading()), [0]);
  assert.equal(sent(message), ['{"x":"1","y":"2","z":"3"}']);
});

test('a column that all rules have left is another one for the next', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  kernel.useColumns(stream, reading('x', 'y'));
  kernel.releaseColumns(stream, [0], reading('x', 'y'));
  kernel.useColumns(stream, [{ kind: 'field', name: 'a', type: { type: 'any' } }]);
  assert.equal(kernel.useColumns(stream, reading('z')), [1]);
  const plan = encode({}, { shape: { kind: 'object', operand: col(1) }, sendError: true });
  const sink = kernel.addNode({ stream }, linked(plan));
  driver.feed(stream, `${bad}\n`);
  assert.equal(driver.of(sink), ['{"z":"3"}']);
});

test('a twin of the stream decodes what the rules read that may move there', () => {
  const driver = drive();
  const { kernel } = driver;
  const [stream, twin] = [kernel.openStream(lines), kernel.openStream(lines)];
  kernel.useColumns(stream, reading('x'));
  kernel.useColumns(stream, reading('z'));
  useSameColumns(kernel, stream, twin, [0]);
  assert.equal(shown(driver, twin)(bad), ['{"x":"1","z":"3"}']);
});

test('objects in lists and in objects have the members that are read of them', () => {
  const driver = drive();
  const { kernel } = driver;
  const stream = kernel.openStream(lines);
  const of = (type: ColumnType): ColumnType => ({
    type: 'struct',
    fields: [{ name: 'l', type: { type: 'array', element: type } }],
  });
  const part = (name: string): ColumnType => ({ type: 'struct', fields: [{ name, type: text }] });
  const use = (read: ColumnType): ColumnUse[] => [{ kind: 'field', name: 'o', type: of(whole), read }];
  kernel.useColumns(stream, use(of(part('y'))));
  const sent = shown(driver, stream);
  const nested = '{"o":{"l":[{"x":"1","y":"2","z":{}}],"m":1}}';
  assert.equal(sent(nested), ['{"l":[{"y":"2"}]}']);
  assert.equal(kernel.useColumns(stream, use(of(part('x')))), [0]);
  assert.equal(sent(nested), ['{"l":[{"x":"1","y":"2"}]}']);
  kernel.releaseColumns(stream, [0], use(of(part('y'))));
  assert.equal(sent(nested), ['{"l":[{"x":"1"}]}']);
});

test.run();
