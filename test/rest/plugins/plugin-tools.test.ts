/** `haumea plugin new`, `build`, `test` and `push`, from an empty folder to rows of a rule, in each language. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, startServer, temporaryFolder } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { lacks } from '../../support/rest/toolchains.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const folder = temporaryFolder();

const commands = new Commands(folder, { HAUMEA_URL: server.base });

for (const [language, lack] of Object.entries(lacks)) {
  const name = `times_${language}`;
  const reason = lack();
  if (reason !== undefined) {
    announceSkip(`a plugin in ${language}`, reason);
    continue;
  }
  test(`a plugin in ${language} is made, built, tried and used in a rule`, async () => {
    const made = await commands.done(`plugin new ${name} --lang ${language}`);
    assert.match(made.out, /haumea plugin test/);
    const own = join(folder, name);
    const built = await commands.done('plugin build', own);
    assert.ok(built.out.includes(name), built.out);
    const tried = await commands.done('plugin test', own);
    assert.is(tried.out, '{"device":"a","result":41}\n{"device":"b","result":-6}\n{"device":"c"}\n');
    assert.match(tried.err, /3 rows as in expected\.jsonl/);
    await commands.done(`plugin push ${name}`);
    assert.equal(await rule.results(`SELECT ${name}(v, 3) AS r FROM s`, [{ v: 14 }]), [{ r: 42 }]);
    // Once more: it takes the place of the one before.
    await commands.done('plugin push', own);
  });
}

test.run();
