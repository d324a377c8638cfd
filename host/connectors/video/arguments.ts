/** What ffmpeg is started with. */
import { containers, flags, protocols } from './input.js';

export interface VideoInput {
  url: string;
  /** ms */
  interval: number;
  codec: string;
  inputArgs: Readonly<Record<string, unknown>>;
  debugResp: boolean;
}

/** Arguments of ffmpeg; `file` is the absolute path of a video in a file. */
export function argumentsOf({ url, interval, codec, inputArgs, debugResp }: VideoInput, file: string | undefined) {
  const scheme = url.slice(0, url.indexOf(':')).toLowerCase();
  const args = ['-hide_banner', '-nostdin', '-loglevel', debugResp ? 'info' : 'error'];
  if (file === undefined) args.push('-protocol_whitelist', protocols[scheme] ?? 'tcp');
  else args.push('-protocol_whitelist', 'file', '-format_whitelist', containers);
  for (const [name, value] of Object.entries(inputArgs)) {
    if (flags.has(name)) args.push(...(value === false || value === 'false' ? [] : [`-${name}`]));
    else args.push(`-${name}`, String(value));
  }
  args.push('-i', file === undefined ? url : `file:${file}`, '-an', '-sn', '-dn');
  if (interval > 0) args.push('-vf', `fps=1000/${interval}`);
  args.push('-f', 'image2pipe', '-c:v', codec);
  if (codec === 'mjpeg') args.push('-q:v', '2', '-pix_fmt', 'yuvj420p');
  args.push('pipe:1');
  return args;
}
