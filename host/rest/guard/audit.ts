/** The audit log: who changed what by REST, and what became of it. Bodies are never written, they hold secrets. */
import type { Middleware } from 'koa';
import type { Logger } from '../../base/log/log.js';

/** Called for each part of a batch when it is answered. */
export type AuditPart = (method: string, target: string, status: number) => void;

/** Writes a line for each part of a batch; the line of the batch itself, which follows, says who sent it. */
export function auditParts(log: Logger): AuditPart {
  return (method, target, status) =>
    log.info(`visit ${method} ${target.split('?', 1)[0]}`, { status, from: 'a batch' });
}

/** Writes a line for each request; reading is logged as well, as monitoring of access needs it. */
export function audit(log: Logger): Middleware {
  return async (ctx, next) => {
    const start = performance.now();
    try {
      await next();
    } finally {
      log.info(`visit ${ctx.method} ${ctx.path}`, {
        status: ctx.status,
        from: ctx.req.socket.remoteAddress,
        subject: ctx.state.subject,
        ms: Math.round(performance.now() - start),
      });
    }
  };
}
