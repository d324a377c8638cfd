/** Failures of the message bus of EdgeX, and events that are none. */
import { errorTable } from '../../../base/errors.js';

export const edgexErrors = errorTable('edgex', {
  connection: ['connection', (reason: string) => reason],
  envelope: ['codec', (reason: string) => `the message is no envelope of EdgeX: ${reason}`],
  contentType: ['codec', (type: string) => `payloads of type ${type} can't be read`],
  noEvent: ['codec', 'the payload is no event with readings'],
  value: ['codec', (type: string, value: string) => `the value ${value} is no ${type}`],
  /** The message bus takes this message never. */
  refused: ['sink', (reason: string) => reason],
  noRow: ['sink', 'the message is no JSON of an object'],
  cast: ['sink', (name: string, type: string) => `the member ${name} can't be a value of type ${type}`],
});
