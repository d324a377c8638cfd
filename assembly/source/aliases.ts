// Topic aliases of MQTT 5: numbers that stand for topics while a connection lasts.
import * as ctx from '../flow/context';
import { accountOf } from '../flow/node';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { poolBytesCopy } from '../mem/pool';
import * as message from './message';
import { S_ALIASES } from './state';

/** Remembers the topic of the message under way for the alias or, when it is empty, looks it up. */
export function resolveAlias(node: usize, state: usize, alias: u32): bool {
  const account = accountOf(node);
  let table = <usize>load<u32>(state, S_ALIASES);
  if (!table) {
    if (!message.topicLen) return false;
    table = allocZeroed(65536 * 8, account);
    if (!table) return false;
    store<u32>(state, <u32>table, S_ALIASES);
  }
  const entry = table + (<usize>alias << 3);
  const old = <usize>load<u32>(entry);
  if (!message.topicLen) {
    if (!old) return false;
    // A copy: the alias may get another topic within the batch.
    const len = load<u32>(entry, 4);
    const topic = poolBytesCopy(ctx.scratch, old, len);
    message.setTopic(topic, len);
    return topic != 0;
  }
  if (old && load<u32>(entry, 4) == message.topicLen && memory.compare(old, message.topic, message.topicLen) == 0) return true;
  const copy = alloc(message.topicLen, account);
  if (!copy) return false;
  memory.copy(copy, message.topic, message.topicLen);
  free(old, load<u32>(entry, 4), account);
  store<u32>(entry, <u32>copy);
  store<u32>(entry, message.topicLen, 4);
  return true;
}

/** Drops the topic aliases: they belong to a connection. */
export function aliasesForget(state: usize, account: usize): void {
  const table = <usize>load<u32>(state, S_ALIASES);
  if (!table) return;
  for (let i: usize = 0; i < 65536; i++) free(<usize>load<u32>(table + (i << 3)), load<u32>(table + (i << 3), 4), account);
  free(table, 65536 * 8, account);
  store<u32>(state, 0, S_ALIASES);
}
