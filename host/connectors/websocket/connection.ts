/** The properties of a websocket that we open. */
import { field, type Parsed } from '../../base/fields/field.js';
import { tlsProps } from '../tls.js';

export const connection = {
  addr: field
    .address()
    .default('')
    .check((addr) => (addr === '' || URL.canParse(`ws://${addr}`) ? undefined : 'must be an address such as host:8080'))
    .doc('Host and port of the server'),
  scheme: field.string().oneOf('ws', 'wss').default('ws').doc('wss speaks TLS'),
  path: field
    .string()
    .alias('datasource')
    .default('')
    .doc('Path of the endpoint; of a source its DATASOURCE when it is empty'),
  requestHeader: field
    .map()
    .default({})
    .doc('Headers of the request that opens the connection; of each a text or a list'),
  ...tlsProps,
};

export type ConnectionConf = Parsed<typeof connection>;

/** Without an address the other side would come to us. */
export function serverReason({ addr }: ConnectionConf): string | undefined {
  return addr === '' ? 'property addr is required: endpoints of the data server are not supported yet' : undefined;
}
