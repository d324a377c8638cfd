/** Opens an interface of a service; what speaks its protocol is read when the first rule needs it. */
import type { AskedCode } from '../define.js';
import type { ServiceCode } from '../service-code.js';
import type { ServiceCounts } from '../service-figures.js';
import { ServiceCalls } from './calls.js';
import type { Protocol } from './protocol.js';

export async function openService(
  code: ServiceCode,
  counts: ServiceCounts,
  log: (line: string) => void,
): Promise<AskedCode> {
  return new ServiceCalls(code, await protocolOf(code), counts, log);
}

async function protocolOf(code: ServiceCode): Promise<Protocol> {
  switch (code.protocol) {
    case 'rest':
      return new (await import('./rest.js')).RestService(code);
    case 'grpc':
      return new (await import('./grpc.js')).GrpcService(code);
    case 'msgpack-rpc':
      return (await import('./msgpack-rpc.js')).openMsgpackRpc(code);
    default:
      return code.protocol satisfies never;
  }
}
