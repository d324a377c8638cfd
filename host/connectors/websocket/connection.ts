/** The properties of a websocket: one that we open, or without an address those that clients open here. */
import { field, type Parsed } from '../../base/fields/field.js';
import { tlsProps } from '../tls.js';

export const connection = {
  addr: field
    .address()
    .default('')
    .check((addr) => (addr === '' || URL.canParse(`ws://${addr}`) ? undefined : 'must be an address such as host:8080'))
    .doc('Host and port of the server; empty: clients connect to the data server'),
  scheme: field.string().oneOf('', 'ws', 'wss').default('ws').doc('wss speaks TLS'),
  path: field
    .string()
    .alias('datasource')
    .default('')
    .doc('Path of the endpoint; of a source its DATASOURCE when it is empty. Of the data server it begins with /'),
  requestHeader: field
    .map()
    .default({})
    .doc('Headers of the request that opens the connection; of each a text or a list'),
  ...tlsProps,
};

export type ConnectionConf = Parsed<typeof connection>;
