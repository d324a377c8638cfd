/** Each connector has its line in the bench. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { files, linesIn } from '../../bench/connectors/lines/index.js';
import { userConnectors } from '../../host/connectors/index.js';

const lines = (await Promise.all(files.map(linesIn))).flat();

test('each connector has a line in the bench', () => {
  const measured = new Set(lines.flatMap(({ connectors }) => connectors));
  const without = userConnectors().filter(({ name, source, lookup, sink }) => {
    return [source, lookup, sink].some((part) => part !== undefined) && !measured.has(name);
  });
  assert.equal(
    without.map(({ name }) => name),
    [],
    'bench/connectors/lines has no line for these',
  );
});

test('each line has a name of its own', () => {
  const names = lines.map(({ name }) => name);
  assert.equal([...new Set(names)], names);
});

test.run();
