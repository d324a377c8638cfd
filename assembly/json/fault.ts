// The fault in a text, and its place. The first note of a text counts; the reader of the note makes the message.
import { messageBegin, messageNumber, messageText } from '../text/message';

let what: string = '';
let where: usize = 0;
/** The message of the last fault stands in text/message.ts already (errors of type rather than of syntax). */
let faultIsComplete: bool = false;

/** Notes a fault at an address; returns 0, the failure result of all scanners. */
export function fault(text: string, at: usize): usize {
  what = text;
  where = at;
  faultIsComplete = false;
  return 0;
}

/** Notes that the message is complete; returns 0. */
export function faultComplete(): usize {
  faultIsComplete = true;
  return 0;
}

/** Puts the message of the last fault into text/message.ts; `start` is the address of byte 0 of the text. */
export function faultMessage(start: usize): void {
  if (faultIsComplete) return;
  messageBegin();
  messageText('invalid JSON at byte ');
  messageNumber(<i64>where - <i64>start);
  messageText(': ');
  messageText(what);
}
