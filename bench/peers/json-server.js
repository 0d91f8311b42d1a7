import { readFileSync } from 'node:fs';
import { rateLimit } from 'express-rate-limit';
import jsonServer from 'json-server';
import { z } from 'zod';
import { unauthorized } from './store.js';

const [port, path, keysPath] = process.argv.slice(2);
const callers = new Map(
  JSON.parse(readFileSync(keysPath, 'utf8')).map((caller) => [`Bearer ${caller.key}`, caller]),
);
const server = jsonServer.create();

const NewPet = z.strictObject({
  name: z.string().min(1).max(255),
  categoryId: z.int(),
  status: z.enum(['available', 'pending', 'sold']).default('available'),
});

server.use(jsonServer.defaults({ logger: false }));

server.use((request, response, next) => {
  request.caller = callers.get(request.get('authorization'));
  if (request.caller === undefined) return response.status(401).json(unauthorized);
  next();
});

server.use(
  rateLimit({
    windowMs: 60_000,
    limit: (request) => request.caller.perMinute,
    keyGenerator: (request) => request.caller.key,
    standardHeaders: 'draft-8',
    legacyHeaders: true,
  }),
);

server.use(jsonServer.bodyParser);
server.use((request, response, next) => {
  if (request.method !== 'POST') return next();
  const body = NewPet.safeParse(request.body);
  if (!body.success) {
    return response
      .status(400)
      .json({ code: 'invalid_body', message: z.prettifyError(body.error), status: 400 });
  }
  request.body = body.data;
  next();
});

server.use('/v1', jsonServer.router(path));
server.listen(Number(port), '127.0.0.1');
