/** The commands of the recipes, word by word: what the page says that they print they print. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';

const page = readFileSync(fileURLToPath(new URL('../../../docs/recipes.md', import.meta.url)), 'utf8');
const sections = page.split(/^## /m).filter((section) => section.includes('```sh'));

/** Words of a command line; what stands in quotes is one. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
}

for (const section of sections) {
  test(section.split('\n', 1)[0]!, async () => {
    const server = await startServer();
    const commands = new Commands(process.cwd(), { HAUMEA_URL: server.base });
    // A fence with a name behind its language is a file of the data folder.
    for (const [, name = '', text = ''] of section.matchAll(/```\w+ (\S+)\n(.*?)```/gs)) {
      writeFileSync(join(server.data, name), text);
    }
    const blocks = [...section.matchAll(/```sh\n(.*?)```\n(?:\n```\n(.*?)```)?/gs)];
    assert.ok(blocks.some(([, , printed]) => printed !== undefined));
    for (const [, lines = '', printed] of blocks) {
      let last = '';
      for (const line of lines.trim().split('\n')) {
        const [program, verb = '', ...words] = wordsOf(line);
        assert.is(program, 'haumea');
        last = (await commands.done(verb, undefined, ...words)).out;
      }
      if (printed !== undefined) assert.is(last, printed);
    }
    await server.stop();
  });
}

test.run();
