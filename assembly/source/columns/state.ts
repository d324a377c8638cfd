// State of a source. Its spec is drawn in gen/source-layouts.ts.
import { N_STATE } from '../../node/node';

export { Framing, InputFormat, SourceError, StreamFlag } from '../../gen/source-layouts';
export {
  STREAM_FRAMING,
  STREAM_VERSION,
  STREAM_FORMAT,
  STREAM_FLAGS,
  STREAM_MAX_DEPTH,
  STREAM_MAX_MESSAGE,
} from '../../gen/source-layouts';
/** Struct type of the declared columns, 0 without schema. */
export const SOURCE_SCHEMA: usize = 12;
export const SOURCE_SPEC: usize = 16;
export const SOURCE_SPEC_SIZE: usize = 20;
export const SOURCE_USES: usize = 24;
export const SOURCE_USE_CAPACITY: usize = 28;
/** Indexes handed out so far, free ones included. */
export const SOURCE_USE_COUNT: usize = 32;
export const SOURCE_HASH: usize = 36;
export const SOURCE_HASH_SIZE: usize = 40; // entries, a power of two
/** Bit 1 << kind for every kind in use. */
export const SOURCE_KINDS: usize = 44;
/** Steps of the decoder, see steps.ts. */
export const SOURCE_STEPS: usize = 48;
export const SOURCE_STEP_COUNT: usize = 52;
export const SOURCE_STEP_CAPACITY: usize = 56;
export const SOURCE_STEP_MISSES: usize = 60;
/** Whom their memory is accounted to. */
export const SOURCE_STEP_ACCOUNT: usize = 64;
/** Offset in the message under way of the next element of a payload that is a list of rows; 0 none. */
export const SOURCE_RESUME: usize = 76;
export const SOURCE_MESSAGES: usize = 80;
export const SOURCE_BYTES: usize = 88;
export const SOURCE_DECODE_ERRORS: usize = 96;
export const SOURCE_OVERSIZED: usize = 104;
/** Bytes of an oversized message still to skip; u64.MAX_VALUE: to the next line feed. */
export const SOURCE_SKIP: usize = 112;
/** Topic aliases of MQTT 5: table of 65536 entries of off u32 | len u32, made with the first alias. */
export const SOURCE_ALIASES: usize = 120;
/** Pool of default values. */
export const SOURCE_POOL: usize = 128;
export const STATE_SIZE: u32 = 160;

// @ts-ignore: decorator
@inline export function stateOf(node: usize): usize {
  return <usize>load<u32>(node, N_STATE);
}
