/**
 * What ffmpeg may read. It gets an address that can't lead it to other files of the machine: playlists and the like may
 * name them, so each kind of address has its protocols, and files the containers that hold nothing but a video.
 */
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';

const network = 'udp,tcp,tls,crypto';

/** Protocols that an address may lead to, by its scheme. */
export const protocols: Readonly<Record<string, string>> = {
  rtsp: `rtsp,rtp,srtp,http,https,httpproxy,${network}`,
  rtsps: `rtsp,rtsps,rtp,srtp,${network}`,
  rtmp: `rtmp,rtmpt,rtmpe,rtmps,http,https,${network}`,
  rtmps: `rtmp,rtmpt,rtmpe,rtmps,http,https,${network}`,
  http: `http,https,httpproxy,${network}`,
  https: `http,https,httpproxy,${network}`,
  udp: 'udp',
  rtp: 'rtp,udp',
  tcp: 'tcp',
  srt: 'srt,udp',
};

export const containers =
  'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,mpegvideo,flv,ogg,h264,hevc,m4v,mjpeg,asf,gif,wmv,ivf,dv,nut';

/** Formats that `f` may name, besides those of files. */
const streams = 'rtsp,rtp,flv,live_flv,hls,applehttp,mpjpeg';

/** Options of the input that name no file. A flag has no value. */
const options = new Set(
  (
    'rtsp_transport rtsp_flags allowed_media_types timeout stimeout rw_timeout buffer_size max_delay listen_timeout ' +
    'reorder_queue_size fflags flags probesize analyzeduration re stream_loop ss sseof t to r framerate threads f ' +
    'user_agent headers reconnect reconnect_at_eof reconnect_streamed reconnect_delay_max an thread_queue_size ' +
    'use_wallclock_as_timestamps avioflags err_detect skip_frame hwaccel pkt_size overrun_nonfatal fifo_size latency'
  ).split(' '),
);
export const flags = new Set(['re', 'an']);

/** Reason why ffmpeg gets no such address; undefined when it does. */
export function urlReason(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url.includes('\0')) return 'must not have a zero byte';
  if (videoFile(url) !== undefined) return undefined;
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== undefined && protocols[scheme] !== undefined) return undefined;
  return `must be a path, or begin with one of ${Object.keys(protocols).join('://, ')}://`;
}

/** Path of a video in a file; undefined for other addresses. */
export function videoFile(url: string): string | undefined {
  if (/^file:\/\//i.test(url)) {
    try {
      return fileURLToPath(url);
    } catch {
      return undefined;
    }
  }
  // A relative path begins in the data folder. Nothing with a colon in its first part is one: ffmpeg has protocols.
  return isAbsolute(url) || /^[\w.][^:]*$/.test(url) ? url : undefined;
}

/** Reason why the options are refused; undefined when they are not. */
export function inputArgsReason(given: Record<string, unknown>): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    if (!options.has(name)) return `must not have ${name}, which is not among ${[...options].sort().join(', ')}`;
    if (value !== null && !['string', 'number', 'boolean'].includes(typeof value)) return `has no text for ${name}`;
    if (/[\0]/.test(String(value))) return `has a zero byte in ${name}`;
    if (!flags.has(name) && (value === null || value === '')) return `has no value for ${name}`;
    if (name === 'f' && !`${containers},${streams}`.split(',').includes(String(value))) {
      return `has a format ${String(value)}, which is not among ${containers},${streams}`;
    }
  }
  return undefined;
}
