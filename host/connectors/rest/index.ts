/** Results as requests to a server. */
import { field } from '../../base/fields/field.js';
import { httpProps, messageBodyType, urlReason, usualBodyType } from '../../http/props.js';
import { commonSink } from '../common.js';
import { defineConnector } from '../define.js';
import { tlsFiles, tlsProofs, tlsProps } from '../tls.js';

export default defineConnector({
  name: 'rest',
  doc: 'Sends each message as a request over HTTP.',
  chinese: async () => (await import('./chinese.js')).chinese,
  connection: {
    props: {
      // That of a sink may be a template, which the sink checks.
      url: field
        .address()
        .check((url) => (url.startsWith('{{') ? undefined : urlReason(url)))
        .doc('Address that the requests go to'),
      timeout: httpProps.timeout,
      headers: httpProps.headers,
      oauth: httpProps.oauth,
      debugResp: httpProps.debugResp,
      ...tlsProps,
      insecureSkipVerify: tlsProps.insecureSkipVerify.default(true),
    },
    files: (conf) => tlsFiles(conf),
    ping: async () => (await import('../servers/http.js')).ping,
    renewable: ['headers', 'oauth', ...tlsProofs],
  },
  sink: {
    props: {
      ...commonSink,
      url: field
        .address()
        .default('http://localhost')
        .check(urlReason)
        .dynamic((text) => (text.startsWith('x') ? undefined : urlReason(text)))
        .doc('Address that the requests go to'),
      ...httpProps,
      method: httpProps.method.dynamic(),
      bodyType: messageBodyType.dynamic(),
      headers: httpProps.headers.dynamic(),
      formData: field.map().default({}).dynamic().doc('With bodyType formdata: further fields of the form'),
      fileFieldName: field
        .string()
        .default('')
        .doc('With bodyType formdata: name of the field with the message; without it the field has no name'),
      format: field.string().doc('Format of the messages').unlisted(),
      concurrency: field
        .int()
        .min(1)
        .max(64)
        .default(1)
        .doc('Requests under way at a time; with more than one, messages may arrive in another order'),
      maxAttempts: field
        .int()
        .min(0)
        .default(0)
        .doc(
          'Times that a message is sent which the server answers with 408 or 5xx, before it counts as refused; ' +
            '0: it is tried for ever',
        ),
    },
    refusal: ({ bodyType, method, format = '' }) => {
      const needed = formatOfBody[bodyType || usualBodyType(method)];
      return needed === undefined || (format || 'json').toLowerCase() === needed
        ? undefined
        : `property format must be ${needed} when bodyType is ${bodyType || usualBodyType(method)}`;
    },
    resendsTo: 'url',
    // Tokens are known when the request is made.
    ownTemplates: ({ oauth }) => (hasToken(oauth) ? ['headers'] : []),
    form: { takes: 'messages', framing: 'messages' },
    load: async () => {
      const { RestSink } = await import('./sink.js');
      return (conf, context) => new RestSink(conf, context);
    },
  },
});

/** Formats that the types of bodies are made for. */
const formatOfBody: Readonly<Record<string, string>> = { json: 'json', form: 'urlencoded' };

/** Properties are unchecked here: objects may be JSON texts. */
function hasToken(oauth: unknown): boolean {
  return /"url"\s*:\s*"[^"]/.test(typeof oauth === 'string' ? oauth : JSON.stringify(oauth ?? {}));
}
