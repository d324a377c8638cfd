/** What messages of a source need before they can be decoded, with the payloads in one of their columns. */
import type { Decoder } from '../../../../kernels/api.js';
import { payloadNeeds } from '../../../codecs/payload.js';
import type { LoadedCode } from '../../../plugins/define.js';

/** Undefined where messages never need anything. */
export function decoderNeeds(
  { fn, payload }: Decoder,
  decoderOf: (number: number) => LoadedCode | undefined,
): LoadedCode['needs'] {
  const outer = decoderOf(fn);
  const within = payload && decoderOf(payload.fn)?.needs;
  if (payload === undefined || within === undefined) return outer?.needs;
  return (message) => {
    const needs = outer?.needs?.(message);
    if (needs !== undefined) return needs;
    try {
      return payloadNeeds(outer?.decode?.(message) ?? message, payload.field, within);
    } catch {
      // A message that can't be decoded fails where it is.
      return undefined;
    }
  };
}
