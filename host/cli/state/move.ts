/**
 * The state of a rule goes to another machine: its newest checkpoint in one file. The checkpoints are on the disk of
 * this one.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { makeFolder } from '../../base/files/folder.js';
import { type FolderLock, lockFolder } from '../../base/files/lock-file.js';
import { checkId } from '../../meta/ids.js';
import { packState, unpackState } from '../../run/plane/state/checkpoint/archive.js';
import { checkpointFolder, lockFileName } from '../../run/props/access.js';
import { CheckpointFolders } from '../../run/props/checkpoint-folders.js';
import type { Call } from '../client/command.js';
import { RequestError } from '../client/rest-client.js';

/** `state export RULE FILE` */
export async function exportState(call: Call): Promise<number> {
  const [rule, file] = [call.arg('rule'), call.arg('file')];
  return told(call, async () => {
    await refuseInCluster(call, rule);
    const { head, bytes } = await packState(folderOf(call, rule), file);
    call.io.out(`state of rule ${rule} as of ${new Date(head.at).toISOString()}: ${bytes} bytes in ${file}\n`);
  });
}

/** `state import RULE FILE` */
export async function importState(call: Call): Promise<number> {
  const [rule, file] = [call.arg('rule'), call.arg('file')];
  return told(call, async () => {
    const folder = folderOf(call, rule);
    await refuseInCluster(call, rule);
    const state = await stateOf(call, rule);
    if (state === 'running') throw new Error(`rule ${rule} is running: stop it before`);
    // A folder that a typing error makes would be read by nobody.
    if (state === 'stopped' && !existsSync(dataOf(call)))
      throw new Error(`there is no folder ${dataOf(call)}: --data names the data folder of the server that answers`);
    const lock = state === 'no server' ? await lockData(call) : undefined;
    const head = await unpackState(file, rule, folder).finally(() => lock?.close());
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
  const folder = new CheckpointFolders(join(dataOf(call), checkpointFolder)).of(rule);
  if (folder === undefined) throw new HaumeaError('general', `rule ${rule} has no folder`);
  return folder;
}

function dataOf(call: Call): string {
  return call.flag('data') ?? 'data';
}

/** The data folder of a node has a copy of the state at best, which the next start of the rule replaces. */
async function refuseInCluster({ client }: Call, rule: string): Promise<void> {
  try {
    await client.send('GET', '/cluster');
  } catch (error) {
    // A server alone, or none.
    if (error instanceof RequestError) return;
    throw error;
  }
  throw new Error(`the server is a node of a cluster: the state of rule ${rule} is in NATS, and goes with the rule`);
}

/** State of the rule as the server tells it, if a server runs. */
async function stateOf({ client }: Call, rule: string): Promise<'running' | 'stopped' | 'no server'> {
  try {
    const { json } = await client.send('GET', `/rules/${encodeURIComponent(rule)}/status`);
    return /^stopped/i.test(String((json as { status?: unknown })?.status)) ? 'stopped' : 'running';
  } catch (error) {
    if (error instanceof RequestError && error.status === undefined) return 'no server';
    if (error instanceof RequestError && error.status === 404) return 'stopped';
    throw error;
  }
}

/**
 * No server has the data folder, nor takes it meanwhile: one that nobody can ask may run the rule, and would write over
 * its state.
 */
async function lockData(call: Call): Promise<FolderLock> {
  const data = dataOf(call);
  await makeFolder(data);
  try {
    return await lockFolder(join(data, lockFileName));
  } catch (error) {
    throw new Error(`no server answers to ask whether the rule runs (--url), but ${reasonOf(error)}`, { cause: error });
  }
}
