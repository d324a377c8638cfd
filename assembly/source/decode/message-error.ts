// A message that could not be decoded.
import { Node } from '../../gen/node-layouts';
import { addErrorRow } from '../columns/batch';
import { keepMessage } from '../columns/failed-row';
import * as message from '../framing/message';

/** Makes the message under way an error row, with the reason in text/message.ts, and keeps it with the failure. */
export function addMessageError(node: Node): void {
  keepMessage(node, message.payload, message.payloadEnd);
  addErrorRow(node);
}
