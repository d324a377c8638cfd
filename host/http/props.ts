/** Properties of connectors that send requests over HTTP. */
import { field, type Parsed } from '../base/fields/field.js';

const bodyTypes = ['', 'none', 'text', 'json', 'html', 'xml', 'javascript', 'form', 'binary'] as const;

const oauthAccess = {
  url: field.address().default('').doc('Address that gives tokens; empty: no OAuth'),
  body: field.secret().default('').doc('Body of the request for a token, JSON'),
  headers: field.map().default({}).doc('Headers of the request'),
  expire: field
    .string()
    .default('')
    .doc('Life of a token in seconds, may be a template over the answer; a new one is fetched at half of it'),
};

const oauthRefresh = {
  url: field.address().default('').doc('Address that renews tokens; empty: a new one is fetched'),
  body: field.secret().default('').doc('Body of the request, may be a template over the last token'),
  headers: field.map().default({}).doc('Headers of the request, may be templates over the last token'),
};

export const httpProps = {
  method: field
    .string()
    .oneOf('get', 'post', 'put', 'patch', 'delete', 'head')
    .default('get')
    .doc('Method of the requests'),
  timeout: field.duration().min(0).default(5000).doc('Longest time of a request with its answer; 0: no limit'),
  headers: field
    .map()
    .default({})
    .doc('Headers of the requests; with oauth they may be templates over the token: Bearer {{.access_token}}'),
  bodyType: field
    .string()
    .oneOf(...bodyTypes)
    .doc('What the body is, which gives the Content-Type; empty: none for get and head, json for others'),
  responseType: field
    .string()
    .oneOf('code', 'body')
    .default('code')
    .doc('What tells a success: the status, or the member code of the JSON answer as well'),
  oauth: field
    .object({
      access: field.object(oauthAccess).doc('How a token is fetched'),
      refresh: field.object(oauthRefresh).doc('How it is renewed'),
    })
    .doc('Tokens by OAuth'),
  debugResp: field.bool().default(false).doc('Log each answer'),
};

/** Body type of messages, which may also be the file of a form. */
export const messageBodyType = field
  .string()
  .oneOf(...bodyTypes, 'formdata')
  .doc(
    'What the body is, which gives the Content-Type; formdata: a form with the message as a file. Empty: none ' +
      'for get and head, json for others',
  );

export type HttpConf = Parsed<typeof httpProps>;

/** Reason why a text is no HTTP address; undefined when it is one. */
export function urlReason(text: string): string | undefined {
  try {
    const { protocol, hostname } = new URL(text);
    if (protocol !== 'http:' && protocol !== 'https:') return 'must begin with http:// or https://';
    return hostname === '' ? 'has no host' : undefined;
  } catch {
    return 'must be an address such as http://host:8080/path';
  }
}

/** Body type of a method when the properties name none. */
export function usualBodyType(method: string): 'none' | 'json' {
  return ['get', 'head'].includes(method.toLowerCase()) ? 'none' : 'json';
}
