/** Options of a command line, read by Node.js; the error for an unknown option names the one probably meant. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { reasonOf } from '../errors.js';
import { nearest } from '../text/nearest.js';

/** As `parseArgs` of Node, with errors of one sentence. */
export function readOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    // The rest of the message is about arguments that begin with a dash.
    const [what = ''] = reasonOf(error).split('. ');
    const [, given] = /^Unknown option '--?([^']+)'/.exec(what) ?? [];
    const meant = given === undefined ? undefined : nearest(given, Object.keys(config.options ?? {}));
    throw new Error(meant === undefined ? what : `${what}, did you mean --${meant}?`, { cause: error });
  }
}
