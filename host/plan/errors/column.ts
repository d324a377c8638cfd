/** Refusals of columns and formats of streams. */
import { planErrors } from './table.js';

export const columnErrors = planErrors('column', {
  formatUnsupported: (format: string, name: string) => `stream format ${format} (stream ${name}) is not supported yet`,
  unknownOfStream: (name: string, stream: string, meant: string | undefined) =>
    `unknown field ${name} of stream ${stream}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
  timestampFormat: (stream: string, fault: string) => `option TIMESTAMP_FORMAT of stream ${stream}: ${fault}`,
});
