/**
 * Loaded before a program: files get no name that contains the text in the file which REFUSED_NAMES names, as long as
 * that is there.
 */
import { promises, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { rename } = promises;

promises.rename = async (from, to) => {
  let refused = '';
  try {
    refused = readFileSync(process.env.REFUSED_NAMES, 'utf8');
  } catch {
    // All are given.
  }
  if (refused !== '' && to.includes(refused)) {
    throw Object.assign(new Error(`EIO: i/o error, rename '${from}' -> '${to}'`), { code: 'EIO', syscall: 'rename' });
  }
  await rename(from, to);
};
syncBuiltinESMExports();
