/** The state of a rule goes to another machine: its newest checkpoint in one file. The checkpoints are on the disk of this one. */
import { join } from 'node:path';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { checkId } from '../../meta/ids.js';
import { checkpointFolder } from '../../run/access.js';
import { CheckpointFolders } from '../../run/checkpoint-folders.js';
import { packState, unpackState } from '../../run/plane/checkpoint/archive.js';
import type { Call } from '../client/command.js';
import { RequestError } from '../client/rest-client.js';

/** `state export RULE FILE` */
export async function exportState(call: Call): Promise<number> {
  const [rule, file] = [call.arg('rule'), call.arg('file')];
  return told(call, async () => {
    const { head, bytes } = await packState(folderOf(call, rule), file);
    call.io.out(`state of rule ${rule} as of ${new Date(head.at).toISOString()}: ${bytes} bytes in ${file}\n`);
  });
}

/** `state import RULE FILE` */
export async function importState(call: Call): Promise<number> {
  const [rule, file] = [call.arg('rule'), call.arg('file')];
  return told(call, async () => {
    if (await isRunning(call, rule)) throw new Error(`rule ${rule} is running: stop it before`);
    const head = await unpackState(file, rule, folderOf(call, rule));
    call.io.out(`rule ${rule} begins with its state as of ${new Date(head.at).toISOString()} at its next start\n`);
  });
}

async function told(call: Call, work: () => Promise<void>): Promise<number> {
  try {
    await work();
    return 0;
  } catch (error) {
    call.io.err(`haumea: ${reasonOf(error)}\n`);
    return 1;
  }
}

function folderOf(call: Call, rule: string): string {
  checkId(rule);
  const folder = new CheckpointFolders(join(call.flag('data') ?? 'data', checkpointFolder)).of(rule);
  if (folder === undefined) throw new HaumeaError('general', `rule ${rule} has no folder`);
  return folder;
}

/** True when a server answers that the rule runs; without a server none does. */
async function isRunning({ client }: Call, rule: string): Promise<boolean> {
  try {
    const { json } = await client.send('GET', `/rules/${encodeURIComponent(rule)}/status`);
    return !/^stopped/i.test(String((json as { status?: unknown })?.status));
  } catch (error) {
    if (error instanceof RequestError && (error.status === undefined || error.status === 404)) return false;
    throw error;
  }
}
