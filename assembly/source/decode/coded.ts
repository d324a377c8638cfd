// Messages in a form of their own: a function of the host makes JSON of them, which is decoded as that of other
// messages is, or a column of their rows is a message of another format (payloads.ts). As many messages as a batch has
// rows are cut out of the input first and given to the function in one call; then one after the other is decoded. With
// lists of rows among them that fills several batches, while nothing more is cut out.
//
//   list   messages of ENTRY bytes | payloads u64 | texts u64 | tags of payloads u8 | tags of texts u8, BATCH_ROWS each
//   entry  topic u32 | topicLen u32 | extra u32 | extraEnd u32 | packetId u32 | qos u8 | retained u8 | 0 u16
import { identity } from '../../batch/stage';
import * as ctx from '../../batch/context';
import { alloc, WORKSPACE } from '../../mem/alloc';
import { BATCH_ROWS, lenOf, offOf, span, Tag } from '../../mem/layout';
import { Pool, poolBytesCopy, poolInit, poolReset } from '../../mem/pool';
import { Decoder, DECODER_SIZE_OF } from '../../gen/source-layouts';
import { callHostOver } from '../../ops/call/index';
import { messageBegin, messageBytes, messagesBeginWith } from '../../text/message';
import { batchEnd, filledRows, putErrorRow } from '../columns/batch';
import { addMessageError } from './message-error';
import { decodeJson } from './decode';
import { payloadsInto } from './payloads';
import { frameEnd, nextFrame, nextLine, skipRest } from '../framing/frames';
import * as message from '../framing/message';
import { acknowledge, nextPacket, Packet, packetEnd, postponeError, protocolError } from '../framing/mqtt';
import { Source, Framing } from '../columns/state';
import { Node } from '../../gen/node-layouts';

const ENTRY: u32 = 24;
const ENTRY_TOPIC_LEN: usize = 4;
const ENTRY_EXTRA: usize = 8;
const ENTRY_EXTRA_END: usize = 12;
const ENTRY_PACKET_ID: usize = 16;
const ENTRY_QOS: usize = 20;
const ENTRY_RETAINED: usize = 21;
const PAYLOADS: u32 = ENTRY * BATCH_ROWS;
const TEXTS: u32 = PAYLOADS + 8 * BATCH_ROWS;
const PAYLOAD_TAGS: u32 = TEXTS + 8 * BATCH_ROWS;
const TEXT_TAGS: u32 = PAYLOAD_TAGS + BATCH_ROWS;
const LIST_SIZE: u32 = TEXT_TAGS + BATCH_ROWS;

let list: usize = 0;
let count: u32 = 0;
/** Number of the message of the list that is decoded next. */
let next: u32 = 0;
/** Memory for the results of the function. */
const pool: Pool = changetype<Pool>(memory.data(32, 16));

/** True when more of the input may be left, as `fillMore`. */
export let codedMore: bool = false;

/** Makes the list; false when memory is exhausted. */
export function codedInit(): bool {
  if (list) return true;
  list = alloc(LIST_SIZE, WORKSPACE);
  poolInit(pool, 65536, WORKSPACE);
  return list != 0;
}

/** Forgets all messages of the list and the results of the function. */
export function codedForget(): void {
  if (!count) return;
  count = 0;
  next = 0;
  poolReset(pool);
}

/** As `sourceFill`, where a batch was begun. */
export function fillCoded(node: Node, state: Source, pos: usize, end: usize): usize {
  let p = pos;
  // No messages are cut out while others wait.
  codedMore = next != count && pos < end;
  if (next == count) {
    codedForget();
    p = cut(node, state, pos, end);
    if (count) read(state);
  }
  const before = next;
  for (; next < count; next++) {
    if (filledRows == BATCH_ROWS || !decode(node, state)) {
      codedMore = true;
      break;
    }
    acknowledge();
  }
  batchEnd(state);
  state.messages += next - before;
  state.bytes += p - pos;
  return p;
}

/** Puts the messages of [pos, end) on the list, as far as it has room; returns where that stopped. */
function cut(node: Node, state: Source, pos: usize, end: usize): usize {
  const framing = state.framing;
  let p = pos;
  if (state.skip) p = skipRest(state, p, end);
  while (p < end) {
    if (count == BATCH_ROWS) {
      codedMore = true;
      break;
    }
    let found: u32;
    let stop: usize;
    if (framing == Framing.MQTT) {
      found = nextPacket(node, state, p, end);
      stop = packetEnd;
    } else {
      found = framing == Framing.LINES ? nextLine(state, p, end) : nextFrame(state, p, end);
      stop = frameEnd;
    }
    if (found == Packet.MESSAGE) add(pos, end);
    else if (found != Packet.OTHER) {
      codedMore = found == Packet.STOP;
      if (protocolError && count) {
        postponeError();
        codedMore = true;
      }
      break;
    }
    p = stop;
  }
  return p;
}

/** Puts the message under way on the list. */
function add(pos: usize, end: usize): void {
  const entry = list + count * ENTRY;
  let topic = message.topic;
  // The topic of an alias stands in memory that is freed with the batch.
  if (topic && (topic < pos || topic >= end)) topic = poolBytesCopy(pool, topic, message.topicLen);
  store<u32>(entry, <u32>topic);
  store<u32>(entry, topic ? message.topicLen : 0, ENTRY_TOPIC_LEN);
  store<u32>(entry, <u32>message.extra, ENTRY_EXTRA);
  store<u32>(entry, <u32>message.extraEnd, ENTRY_EXTRA_END);
  store<u32>(entry, message.packetId, ENTRY_PACKET_ID);
  store<u8>(entry, <u8>message.qos, ENTRY_QOS);
  store<u8>(entry, <u8>message.retained, ENTRY_RETAINED);
  const length = <u32>(message.payloadEnd - message.payload);
  store<u64>(list + PAYLOADS + ((<usize>count) << 3), length ? span(message.payload, length) : 0);
  store<u8>(list + PAYLOAD_TAGS + count, Tag.BYTES);
  count++;
}

/** The decoder, which its spec ends with. */
function decoderOf(state: Source): Decoder {
  return changetype<Decoder>(changetype<usize>(state.spec) + state.specSize - decoderSize(state));
}

function decoderSize(state: Source): u32 {
  return state.spec.delimiter;
}

/** Calls the function, which makes JSON of all messages of the list, and decodes the payloads in their rows. */
function read(state: Source): void {
  const decoder = decoderOf(state);
  const fn = decoder.fn;
  if (fn) {
    callHostOver(fn, list + PAYLOADS, list + PAYLOAD_TAGS, identity, count, list + TEXTS, list + TEXT_TAGS, pool);
  } else {
    memory.copy(list + TEXTS, list + PAYLOADS, count << 3);
    memory.fill(list + TEXT_TAGS, Tag.STR, count);
  }
  if (decoder.fieldLen) {
    const size = decoderSize(state);
    payloadsInto(list + TEXTS, list + TEXT_TAGS, count, decoder, size, <i32>state.maxDepth, pool);
  }
  // The results do not count as values computed by programs.
  ctx.setComputed(0);
}

/** Decodes the next message of the list. False: the batch is full, the same message is to be decoded again. */
function decode(node: Node, state: Source): bool {
  const entry = list + next * ENTRY;
  message.setTopic(<usize>load<u32>(entry), load<u32>(entry, ENTRY_TOPIC_LEN));
  message.setExtra(<usize>load<u32>(entry, ENTRY_EXTRA), <usize>load<u32>(entry, ENTRY_EXTRA_END));
  message.setDelivery(
    load<u8>(entry, ENTRY_QOS),
    load<u8>(entry, ENTRY_RETAINED) != 0,
    load<u32>(entry, ENTRY_PACKET_ID),
  );
  if (state.framing == Framing.FRAMES && message.isFailure()) {
    const failure = load<u64>(list + PAYLOADS + ((<usize>next) << 3));
    messageBegin();
    messageBytes(offOf(failure), lenOf(failure));
    putErrorRow(state);
    return true;
  }
  const tag = load<u8>(list + TEXT_TAGS + next);
  const text = load<u64>(list + TEXTS + ((<usize>next) << 3));
  if (tag == Tag.STR) {
    message.setPayload(offOf(text), offOf(text) + lenOf(text));
    const decoder = decoderOf(state);
    messagesBeginWith(changetype<usize>(decoder) + DECODER_SIZE_OF + decoder.fieldLen, decoder.errorsLen);
    const isDone = decodeJson(node, state);
    messagesBeginWith(0, 0);
    return isDone;
  }
  // Null: there are no rows in it.
  if (tag != Tag.ERROR) return true;
  messageBegin();
  messageBytes(offOf(text), lenOf(text));
  addMessageError(node);
  return true;
}
