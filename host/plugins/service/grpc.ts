/** Calls over gRPC: messages in the wire format of protobuf. */
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import { GrpcClient, type GrpcFault, messageHead } from '../../clients/grpc/client.js';
import type { ServiceCode } from '../service-code.js';
import { type FaultKind, ServiceFault, shortReason } from './faults.js';
import type { Ending, Prepared, Protocol } from './protocol.js';
import { givenFields } from './schema/arguments.js';
import { valueOfWire } from './schema/read.js';
import { type Message, Types } from './schema/types.js';
import { WireWriter } from './schema/write.js';
import { Target } from './target.js';

interface Entry {
  readonly name: string;
  readonly head: Buffer;
  readonly input: Message;
  readonly output: Message;
}

/** Kinds of the codes that a service gives; others refuse. */
const kinds: Readonly<Record<number, FaultKind>> = { 4: 'late', 8: 'busy', 14: 'unreachable' };

export class GrpcService implements Protocol {
  readonly #client: GrpcClient;
  readonly #entries = new Map<string, Entry>();
  readonly #writer = new WireWriter();
  readonly #host: string;

  constructor(private readonly code: ServiceCode) {
    const target = new Target(code);
    this.#host = target.authority;
    this.#client = new GrpcClient({
      connect: () => target.connect('h2'),
      isSecure: target.isSecure,
      authority: target.authority,
      headers: code.headers,
      timeoutMs: code.timeoutMs,
      maxBytes: code.maxBytes,
    });
    const types = new Types(code.types);
    for (const [func, { name, service, input, output }] of Object.entries(code.methods)) {
      if (input === null || output === null) throw new Error(`the function ${func} has no schema`);
      const head = this.#client.headOf(`/${service}/${name}`);
      this.#entries.set(func, { name, head, input: types.message(input), output: types.message(output) });
    }
  }

  prepare(entry: string, args: readonly unknown[]): Prepared {
    const found = this.#entries.get(entry);
    if (found === undefined) throw new Error(`service ${this.code.name} has no function ${entry}`);
    const { name, head, input, output } = found;
    const body = this.#writer.write(givenFields(name, input, args), messageHead);
    if (body.length > this.code.maxBytes + messageHead) {
      throw new Error(`the message has more than ${this.code.maxBytes} bytes`);
    }
    return { send: (ending) => this.#send(head, body, output, ending) };
  }

  close(): void {
    this.#client.close();
  }

  #send(head: Buffer, body: Buffer, output: Message, ending: Ending): (isLate: boolean) => void {
    const giveUp = this.#client.call(head, body, {
      answered: (message) => {
        let value: Value;
        try {
          value = valueOfWire(output, message);
        } catch (error) {
          ending.failed(new ServiceFault('refused', reasonOf(error)));
          return;
        }
        ending.answered(value);
      },
      failed: (fault) => ending.failed(this.#faultOf(fault)),
    });
    return (isLate) => {
      giveUp();
      if (isLate) this.#client.probe();
    };
  }

  #faultOf({ code, reason }: GrpcFault): ServiceFault {
    if (code === undefined) return new ServiceFault('unreachable', `${this.#host}: ${shortReason(reason)}`);
    return new ServiceFault(kinds[code] ?? 'refused', shortReason(reason));
  }
}
