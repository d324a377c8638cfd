// State of a source. Its spec is drawn in gen/source-layouts.ts.

import { Node } from '../../gen/node-layouts';
import { StreamSpec } from '../../gen/source-layouts';
import { Pool } from '../../mem/pool';
export { Framing, InputFormat, SourceError, StreamFlag } from '../../gen/source-layouts';
/** State of a source. It begins as its spec does. */
// @ts-ignore: decorator
@unmanaged
export class Source {
  framing: u8;
  version: u8;
  format: u8;
  flags: u8;
  maxDepth: u32;
  maxMessage: u32;
  /** Struct type of the declared columns, 0 without schema. */
  schema: usize;
  spec: StreamSpec;
  specSize: u32;
  uses: usize;
  useCapacity: u32;
  /** Indexes handed out so far, free ones included. */
  useCount: u32;
  hash: usize;
  hashSize: u32;
  /** Bit 1 << kind for every kind in use. */
  kinds: u32;
  /** Steps of the decoder, see steps.ts. */
  steps: usize;
  stepCount: u32;
  stepCapacity: u32;
  stepMisses: u32;
  /** Account of the memory of the steps. */
  stepAccount: usize;
  /** Types of protobuf messages, 0 of other formats. */
  messageTypes: usize;
  /** How their fields go into the columns in use, 0 until a message comes. */
  messagePlan: usize;
  /** Offset in the message under way of the next element of a payload that is a list of rows; 0 none. */
  resume: u32;
  messages: u64;
  bytes: u64;
  decodeErrors: u64;
  oversized: u64;
  /** Bytes of an oversized message still to skip; u64.MAX_VALUE: to the next line feed. */
  skip: u64;
  /** Topic aliases of MQTT 5: table of 65536 entries of off u32 | len u32, made with the first alias. */
  aliases: usize;

  get pool(): Pool {
    return changetype<Pool>(changetype<usize>(this) + SOURCE_POOL);
  }
}
// entries, a power of two
/** Pool of default values. */
const SOURCE_POOL: usize = 128;
export const STATE_SIZE: u32 = 160;

// @ts-ignore: decorator
@inline export function stateOf(node: Node): Source {
  return changetype<Source>(node.state);
}
