/** The decoder of a format as code that the kernel calls over the messages of an input. */
import { makeTexts } from '../../../../kernels/calls/made-texts.js';
import { reasonOf } from '../../../base/errors.js';
import { openDecoder } from '../../../codecs/index.js';
import type { FormatCode, LoadedCode } from '../../../plugins/define.js';

/** Resolves with the decoder at work; rejects with the reason when it does not load. */
export async function loadFormat({ name, settings }: FormatCode): Promise<LoadedCode> {
  const decoder = await openDecoder(name, settings);
  const make = (message: Uint8Array) => decoder.decode(message);
  const failed = (error: unknown) => `format ${name}: ${reasonOf(error)}`;
  return {
    call: (_entry, columns) => makeTexts(columns, make, failed),
    needs: decoder.needs,
    decode: make,
    close: () => {},
  };
}
