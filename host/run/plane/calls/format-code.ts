/** The decoder of a format as code that the kernel calls over the messages of an input. */
import { Utf8, ValueError } from '../../../../kernels/values/value.js';
import { reasonOf } from '../../../base/errors.js';
import { openDecoder } from '../../../codecs/index.js';
import type { FormatCode, LoadedCode } from '../../../plugins/define.js';

/** Resolves with the decoder at work; rejects with the reason when it does not load. */
export async function loadFormat({ name, settings }: FormatCode): Promise<LoadedCode> {
  const decoder = await openDecoder(name, settings);
  return {
    call: (_entry, columns) => {
      for (let k = 0; k < columns.count; k++) {
        const message = columns.get(0, k);
        if (message instanceof ValueError) columns.fail(k, message.message);
        else if (!(message instanceof Uint8Array)) columns.fail(k, `format ${name}: the message has no bytes`);
        else {
          try {
            columns.set(k, new Utf8(decoder.decode(message)));
          } catch (error) {
            columns.fail(k, `format ${name}: ${reasonOf(error)}`);
          }
        }
      }
    },
    needs: decoder.needs,
    close: () => {},
  };
}
