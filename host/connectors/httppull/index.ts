/** A source that asks a server again and again for rows, and lookup tables over its answers. */
import { compressionNames } from '../../base/bytes/compression.js';
import { field } from '../../base/fields/field.js';
import { literalOf } from '../../base/fields/row-template.js';
import { httpProps, urlReason } from '../../http/props.js';
import { commonLookup, commonSource } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

const connection = {
  url: field
    .address()
    .default('http://localhost')
    .check((text) => urlReason(literalOf(text)))
    .doc('Address that is asked; the DATASOURCE is added to it'),
  timeout: httpProps.timeout,
  headers: httpProps.headers,
  oauth: httpProps.oauth,
  debugResp: httpProps.debugResp,
  ...tlsProps,
  insecureSkipVerify: tlsProps.insecureSkipVerify.default(true),
};

const requestProps = {
  ...httpProps,
  body: field.secret().default('').doc('Body of the requests'),
  compression: field
    .string()
    .oneOf('', ...compressionNames)
    .default('')
    .doc('Compression of answers that do not say it themselves (Content-Encoding)'),
};

const dataSource = { doc: 'Path that is added to the address' };

export default defineConnector({
  name: 'httppull',
  doc: 'Asks a server over HTTP at each interval, and takes its answers.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: connection,
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('../servers/http.js')).ping,
    renewable: ['url', 'headers', 'oauth', ...tlsProofs],
  },
  source: {
    dataSource,
    showsDecoder: true,
    defaultKey: {
      url: 'http://localhost',
      method: 'post',
      interval: '10s',
      timeout: '5s',
      incremental: false,
      bodyType: 'json',
      insecureSkipVerify: true,
      headers: { Accept: 'application/json' },
      responseType: 'code',
    },
    props: {
      ...commonSource,
      ...requestProps,
      interval: field.duration().min(1).default(10_000).doc('Time between two requests'),
      incremental: field.bool().default(false).doc('An answer equal to the last one is left out'),
      states: field
        .map()
        .default({})
        .doc(
          'Values for templates in url, body and headers; members of an answer with their names replace them. With ' +
            'the option qos they are kept over restarts',
        ),
      nextLink: field
        .string()
        .default('')
        .doc(
          'Where an answer has the address of its next page, which is asked for at once: link for the header Link ' +
            'with rel="next", or the path of a member, such as paging.next. Pages of other servers are not asked for',
        ),
      nextCursor: field
        .string()
        .default('')
        .doc(
          'Path of the member with the cursor of the next page, such as meta.next: {{.cursor}} in url, body and ' +
            'headers, empty for the first page. A page without one is the last',
        ),
      maxPages: field.int().min(1).max(1_000_000).default(10_000).doc('Most pages at an interval'),
    },
    refusal: ({ nextLink, nextCursor }) =>
      nextLink !== '' && nextCursor !== '' ? 'properties nextLink and nextCursor exclude each other' : undefined,
    form: () => ({ framing: 'frames', waits: true }),
    rewinds: ({ states }) =>
      Object.keys(states).length === 0
        ? { no: 'without states each answer comes once' }
        : { provided: 'the server answers with what comes after the states that a checkpoint keeps' },
    load: async () => {
      const { PullSource } = await import('./source.js');
      return (conf, context) => new PullSource(conf, context);
    },
  },
  lookup: {
    props: { ...commonLookup, ...requestProps },
    load: async () => {
      const { PullLookup } = await import('./lookup.js');
      return (conf, context) => new PullLookup(conf, context);
    },
  },
});
