// What is wrong with a message: the reason, its place, and the fields it lies in, noted on the way out.
import { messageBegin, messageBytes, messageNumber, messageText } from '../text/message';
import { MessageField } from '../gen/protobuf-layouts';

/** Most fields of a path that errors name. */
const LONGEST_PATH: u32 = 8;
/** Addresses of names and their lengths, the innermost first. */
const PATH: usize = memory.data(64);

let what: string = '';
let where: usize = 0;
let depth: u32 = 0;

/** Notes a fault at an address, 0 where the message is not to blame; returns 0, the failure of all readers. */
export function fault(text: string, at: usize): usize {
  what = text;
  where = at;
  depth = 0;
  return 0;
}

/** Notes that the fault lies in a field of the types at `types`; returns 0. */
export function faultIn(types: usize, field: MessageField): usize {
  if (depth < LONGEST_PATH) {
    store<u32>(PATH + ((<usize>depth) << 3), <u32>(types + field.nameOff));
    store<u32>(PATH + ((<usize>depth) << 3), field.nameLen, 4);
  }
  depth++;
  return 0;
}

/** Puts the message of the last fault into text/message.ts; `start` is the address of byte 0. */
export function faultText(start: usize): void {
  messageBegin();
  messageText(where ? 'invalid protobuf message at byte ' : 'protobuf message');
  if (where) messageNumber(<i64>where - <i64>start);
  if (depth) {
    messageText(', field ');
    if (depth > LONGEST_PATH) messageText('...');
    for (let i = min(depth, LONGEST_PATH); i > 0; i--) {
      const at = PATH + ((<usize>(i - 1)) << 3);
      messageBytes(<usize>load<u32>(at), load<u32>(at, 4));
      if (i > 1) messageText('.');
    }
  }
  messageText(': ');
  messageText(what);
}
