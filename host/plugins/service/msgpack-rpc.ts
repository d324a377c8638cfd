/** Calls over MessagePack-RPC: the fields of a message are the parameters, in order. */
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { missingPackage } from '../../base/program/missing-package.js';
import { RpcClient } from '../../clients/msgpack-rpc/client.js';
import type { ServiceCode } from '../service-code.js';
import { refuse, ServiceFault, shortReason } from './faults.js';
import type { Ending, Prepared, Protocol } from './protocol.js';
import { givenFields } from './schema/arguments.js';
import { valueOfJson } from './schema/json.js';
import { fieldPlain } from './schema/plain.js';
import { type Message, Types } from './schema/types.js';
import { Target } from './target.js';

const library = '@msgpack/msgpack';

interface Entry {
  readonly name: string;
  readonly input: Message;
  readonly output: Message;
}

/** Rejects with the reason when the package of the format is not installed. */
export async function openMsgpackRpc(code: ServiceCode): Promise<Protocol> {
  try {
    const { messageCoder } = await import('../../clients/msgpack-rpc/coder.js');
    return new MsgpackRpcService(code, messageCoder());
  } catch (error) {
    if (missingPackage(error, [library]) === undefined) throw error;
    throw new Error(`services over msgpack-rpc need the package ${library}, which is not installed`, { cause: error });
  }
}

class MsgpackRpcService implements Protocol {
  readonly #client: RpcClient;
  readonly #entries = new Map<string, Entry>();
  readonly #host: string;

  constructor(
    private readonly code: ServiceCode,
    codec: ConstructorParameters<typeof RpcClient>[1],
  ) {
    const target = new Target(code);
    this.#host = target.authority;
    this.#client = new RpcClient({ connect: () => target.connect(undefined), maxBytes: code.maxBytes }, codec);
    const types = new Types(code.types);
    for (const [func, { name, input, output }] of Object.entries(code.methods)) {
      if (input === null || output === null) throw new Error(`the function ${func} has no schema`);
      this.#entries.set(func, { name, input: types.message(input), output: types.message(output) });
    }
  }

  prepare(entry: string, args: readonly unknown[]): Prepared {
    const found = this.#entries.get(entry);
    if (found === undefined) throw new Error(`service ${this.code.name} has no function ${entry}`);
    const { name, input, output } = found;
    const given = new Map(givenFields(name, input, args));
    const params = input.fields.map((field) => {
      const value = given.get(field);
      return value === undefined ? null : fieldPlain(field, value);
    });
    return { send: (ending) => this.#send(name, params, output, ending) };
  }

  close(): void {
    this.#client.close();
  }

  #send(name: string, params: readonly unknown[], output: Message, ending: Ending): (isLate: boolean) => void {
    const { maxBytes } = this.code;
    return this.#client.call(name, params, maxBytes, {
      answered: (result) => {
        let value: Value;
        try {
          value = this.#valueOf(name, output, result);
        } catch (error) {
          ending.failed(new ServiceFault('refused', reasonOf(error)));
          return;
        }
        ending.answered(value);
      },
      failed: ({ kind, reason }) => {
        const text = shortReason(reason);
        if (kind === 'error') ending.failed(new ServiceFault('refused', text));
        else ending.failed(new ServiceFault('unreachable', `${this.#host}: ${text}`));
      },
    });
  }

  #valueOf(name: string, output: Message, result: unknown): Value {
    try {
      return valueOfJson(output, result);
    } catch (error) {
      throw refuse(`the answer to ${name} does not fit: ${reasonOf(error)}`);
    }
  }
}
