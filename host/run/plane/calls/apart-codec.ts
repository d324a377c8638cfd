/**
 * Codecs of modules on threads of their own. The messages of an input go there before the kernel gets them, and what
 * the codec makes of each goes on in its place: its first byte says that it is that. So the input keeps its framing,
 * and a log of it has JSON that needs no codec.
 */
import { carryMessages, madeOf } from '../../../../kernels/calls/carried-messages.js';
import { makeTexts } from '../../../../kernels/calls/made-texts.js';
import type { Made } from '../../../../kernels/calls/message-calls.js';
import { ValueError } from '../../../../kernels/values/value.js';
import { reasonOf } from '../../../base/errors.js';
import type { LoadedCode, WasmCode } from '../../../plugins/define.js';
import type { IsolatedModules } from './isolated-function.js';

/** First bytes of a message that was decoded: neither stands in UTF-8, and few forms of messages begin so. */
const decodedSign = 0xfe;
const failedSign = 0xff;
const noRows = Buffer.from('[]');

/** A message in the place of the one that it was made of. */
export function decodedMessage(made: Made): Buffer {
  if (made instanceof ValueError) return Buffer.concat([Buffer.of(failedSign), Buffer.from(made.message)]);
  return Buffer.concat([Buffer.of(decodedSign), made ?? noRows]);
}

function textIn(message: Uint8Array): Uint8Array {
  const text = message.subarray(1);
  if (message[0] === decodedSign) return text;
  if (message[0] === failedSign) throw new Error(Buffer.from(text).toString());
  throw new Error('the message was kept from a time when its codec had no thread of its own');
}

/** Resolves when the module is loaded; rejects with the reason when it does not load. */
export async function openApart(modules: IsolatedModules, owner: string, code: WasmCode): Promise<LoadedCode> {
  const shared = modules.use(owner, code);
  try {
    await shared.module.loaded;
  } catch (error) {
    modules.leave(shared);
    throw error;
  }
  return {
    call: (_entry, columns) => makeTexts(columns, textIn, reasonOf),
    make: async (entry, messages, kind, signal) => {
      try {
        return madeOf(await shared.module.ask(entry, carryMessages(messages, kind), signal));
      } catch (error) {
        const failure = new ValueError(`function ${entry} of ${shared.module.name}: ${reasonOf(error)}`);
        return messages.map(() => failure);
      }
    },
    close: () => modules.leave(shared),
  };
}
