/** The audit log: who changed what by REST, and what became of it. Bodies are never written, they hold secrets. */
import type { Middleware } from 'koa';
import type { Logger } from '../base/log.js';

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
