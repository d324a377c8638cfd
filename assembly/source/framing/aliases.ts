// Topic aliases of MQTT 5: numbers that stand for topics while a connection lasts.
import * as ctx from '../../batch/context';
import { accountOf } from '../../node/node';
import { alloc, allocZeroed, free } from '../../mem/alloc';
import { poolBytesCopy } from '../../mem/pool';
import * as message from './message';
import { Node } from '../../gen/node-layouts';
import { Source } from '../columns/state';

const ALIASES_SIZE: u32 = 65536 * 8;

/** The table of topic aliases, made when there is none; 0 when memory is exhausted. */
export function aliasesMake(state: Source, account: usize): usize {
  let table = state.aliases;
  if (table) return table;
  table = allocZeroed(ALIASES_SIZE, account);
  state.aliases = table;
  return table;
}

/** Topic of an alias: off u32 | len u32, 0 without one. */
// @ts-ignore: decorator
@inline export function aliasEntry(table: usize, alias: u32): usize {
  return table + ((<usize>alias) << 3);
}

/** Remembers the topic of the message under way for the alias or, when it is empty, looks it up. */
export function resolveAlias(node: Node, state: Source, alias: u32): bool {
  const account = accountOf(node);
  if (!message.topicLen && !state.aliases) return false;
  const table = aliasesMake(state, account);
  if (!table) return false;
  const entry = aliasEntry(table, alias);
  const old = <usize>load<u32>(entry);
  if (!message.topicLen) {
    if (!old) return false;
    // A copy: the alias may get another topic within the batch.
    const len = load<u32>(entry, 4);
    const topic = poolBytesCopy(ctx.scratch, old, len);
    message.setTopic(topic, len);
    return topic != 0;
  }
  if (old && load<u32>(entry, 4) == message.topicLen && memory.compare(old, message.topic, message.topicLen) == 0)
    return true;
  const copy = alloc(message.topicLen, account);
  if (!copy) return false;
  memory.copy(copy, message.topic, message.topicLen);
  free(old, load<u32>(entry, 4), account);
  store<u32>(entry, <u32>copy);
  store<u32>(entry, message.topicLen, 4);
  return true;
}

/** Drops the topic aliases: they belong to a connection. */
export function aliasesForget(state: Source, account: usize): void {
  const table = state.aliases;
  if (!table) return;
  for (let i: u32 = 0; i < 65536; i++)
    free(<usize>load<u32>(aliasEntry(table, i)), load<u32>(aliasEntry(table, i), 4), account);
  free(table, ALIASES_SIZE, account);
  state.aliases = 0;
}
