/** A server of the library grpc-js; what it reads and writes is coded by protobufjs. */
import protobuf from 'protobufjs';
import { announceSkip } from '../harness.js';

export interface Failure {
  readonly code: number;
  readonly details?: string;
}

type Message = Record<string, unknown>;

/** A call as a method sees it. */
export interface GrpcCall {
  readonly request: Message;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly deadline: Date;
}

/** Methods by name; what one throws with a `code` is the failure of the call. */
export type GrpcMethods = Readonly<Record<string, (call: GrpcCall) => Message | Promise<Message>>>;

export interface GrpcServer {
  readonly port: number;
  /** Ends it at once. */
  kill(): void;
}

// biome-ignore lint/suspicious/noExplicitAny: the library may be missing, with its types.
let library: any;

/** Whether the library is there; else the test is skipped with a reason, in CI it fails. */
export async function hasGrpc(test: string): Promise<boolean> {
  try {
    library ??= await import('@grpc/grpc-js' as string);
    return true;
  } catch {
    announceSkip(test, 'the package @grpc/grpc-js is not installed');
    return false;
  }
}

export interface GrpcOptions {
  readonly port?: number;
  /** Certificate and key, PEM; with them it speaks TLS alone. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Serves the only service of a schema. */
export async function startGrpc(schema: string, methods: GrpcMethods, options: GrpcOptions = {}): Promise<GrpcServer> {
  const { root } = protobuf.parse(schema, { keepCase: true });
  for (const file of ['wrappers', 'empty', 'struct']) {
    root.addJSON(protobuf.common.get(`google/protobuf/${file}.proto`)?.nested ?? {});
  }
  root.resolveAll();
  const [service] = root.nestedArray.flatMap((space) =>
    'nestedArray' in space
      ? (space as protobuf.Namespace).nestedArray.filter((one) => one instanceof protobuf.Service)
      : [],
  ) as protobuf.Service[];
  if (service === undefined) throw new Error('the schema has no service');
  const definition: Record<string, object> = {};
  const handlers: Record<string, unknown> = {};
  for (const { name, resolvedRequestType, resolvedResponseType } of service.methodsArray) {
    const plain = { longs: String, enums: String, bytes: String, defaults: false };
    definition[name] = {
      path: `/${service.fullName.slice(1)}/${name}`,
      requestStream: false,
      responseStream: false,
      requestDeserialize: (bytes: Buffer) => resolvedRequestType!.toObject(resolvedRequestType!.decode(bytes), plain),
      responseSerialize: (value: Message) =>
        Buffer.from(resolvedResponseType!.encode(resolvedResponseType!.fromObject(value)).finish()),
    };
    handlers[name] = (call: GrpcServerCall, done: (error: unknown, value?: Message) => void) => {
      const asked = { request: call.request, metadata: call.metadata.getMap(), deadline: new Date(call.getDeadline()) };
      Promise.resolve(asked)
        .then((one) => methods[name]!(one))
        .then((value) => done(null, value), done);
    };
  }
  const server = new library.Server();
  server.addService(definition, handlers);
  const { port = 0, tls } = options;
  const pair = tls && { cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) };
  const credentials = library.ServerCredentials;
  const secured = pair === undefined ? credentials.createInsecure() : credentials.createSsl(null, [pair]);
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, secured, (error: Error | null, given: number) =>
      error === null ? resolve(given) : reject(error),
    ),
  );
  return { port: bound, kill: () => server.forceShutdown() };
}

interface GrpcServerCall {
  readonly request: Message;
  readonly metadata: { getMap(): Record<string, unknown> };
  getDeadline(): Date | number;
}

/** The failure of a call, for a method to throw. */
export function failure(code: number, details: string): Error {
  return Object.assign(new Error(details), { code, details });
}
