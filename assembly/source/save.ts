// Saved state of a source: messages that have not ended, and the topic aliases of its connection. Steps that it learnt
// for faster decoding are learnt again; its counters are those of the run.
import { accountOf } from '../node/node';
import { alloc } from '../mem/alloc';
import { LoadFault } from '../gen/state-layouts';
import { readFail, readFails, readLength, readRaw, readU32, readU64, readUpTo, readVersion } from '../state/reader';
import { writeBytes, writeU32, writeU64, writeVersion } from '../state/writer';
import { aliasEntry, aliasesMake } from './framing/aliases';
import { stateOf } from './columns/state';
import { Node } from '../gen/node-layouts';

const VERSION: u32 = 1;
const LAST_ALIAS: u32 = 0xffff;

export function sourceSave(node: Node): void {
  const state = stateOf(node);
  writeVersion(VERSION);
  writeU64(state.skip);
  writeU32(state.resume);
  const table = state.aliases;
  for (let alias: u32 = 1; table && alias <= LAST_ALIAS; alias++) {
    const entry = aliasEntry(table, alias);
    if (!load<u32>(entry)) continue;
    writeU32(alias);
    writeBytes(<usize>load<u32>(entry), load<u32>(entry, 4));
  }
  writeU32(0);
}

/** Loads the saved state into a source that has read nothing. */
export function sourceLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = stateOf(node);
  state.skip = readU64();
  state.resume = readU32();
  for (let alias = readUpTo(LAST_ALIAS); alias; alias = readUpTo(LAST_ALIAS)) {
    const table = aliasesMake(state, accountOf(node));
    const len = readLength();
    const topic = table && !readFails() ? alloc(len, accountOf(node)) : 0;
    if (!topic) {
      readFail(LoadFault.MEMORY);
      return false;
    }
    const entry = aliasEntry(table, alias);
    if (load<u32>(entry)) readFail(LoadFault.DAMAGED);
    store<u32>(entry, <u32>topic);
    store<u32>(entry, len, 4);
    readRaw(topic, len);
  }
  return !readFails();
}
