import * as z from 'zod';
import { maxSignInBytes } from '../bounds.ts';
import { createdJson, defineOperations, noContent, okJson } from '../operation.ts';
import { bodyErrorMap, instant, objectSchema } from '../values.ts';
import { Role } from './operators.ts';
import { id, idParameter } from './values.ts';

export const SignIn = z
  .strictObject(
    {
      token: z.string().optional().describe("An operator's token."),
      code: z.string().optional().describe('The one-time code from a console link.'),
    },
    { error: bodyErrorMap('a sign-in', 'token or code') },
  )
  .refine(({ token, code }) => (token === undefined) !== (code === undefined), {
    message: 'must have either token or code',
  })
  .meta({ id: 'SignIn', description: 'Credentials for a session.' });

export const Session = objectSchema('Session', 'A console session.', {
  operator: z.string().describe('The signed-in operator, as shown in the audit log.'),
  role: Role,
  expiresAt: instant(
    'Latest time at which the session expires (UTC); null for a token, which does not expire.',
  ).nullable(),
});

const NewSession = Session.extend({
  secret: z
    .string()
    .describe(
      'Secret of the session. Send it as `X-Session-Secret` with every request that uses the cookie. Shown only in this response.',
    ),
}).meta({ id: 'NewSession', description: 'A new session.' });

const SessionId = idParameter('ID of the session.');

export const OwnSession = objectSchema('OwnSession', 'A session of the signed-in operator.', {
  id: id('ID of the session.'),
  startedAt: instant('Time when the session began (UTC).'),
  usedAt: instant('Time when the session was last used (UTC), to the minute.'),
  expiresAt: instant('Latest time at which the session expires (UTC).'),
  isCurrent: z.boolean().describe('Whether the request was made with this session.'),
});

export type OwnSession = z.infer<typeof OwnSession>;

export type SignIn = z.infer<typeof SignIn>;
export type Session = z.infer<typeof Session>;

export const sessionOperations = defineOperations(
  { tag: { name: 'Sessions', description: 'Signing in and out of the console.' } },
  {
    createSession: {
      route: 'POST /session',
      summary: 'Sign in',
      description:
        'Exchanges a token, or the one-time code from a console link, for a session: a cookie, and a secret that the page sends ' +
        'as `X-Session-Secret`. Programs need no session. They send their token with each request.',
      role: 'anybody',
      repeatable: false,
      body: { schema: SignIn, maxBytes: maxSignInBytes },
      success: createdJson(NewSession, 'The session: a cookie, and a secret to send with the cookie.'),
      errors: ['sign_in_failed', 'too_many_sign_ins'],
    },
    getSession: {
      route: 'GET /session',
      summary: 'Get the signed-in operator',
      description: 'Returns the operator who sent the request.',
      success: okJson(Session, 'The signed-in operator.'),
    },
    listSessions: {
      route: 'GET /sessions',
      summary: 'List your own sessions',
      description: 'Returns the active sessions of the signed-in operator, most recently used first.',
      success: okJson(
        z.array(OwnSession).meta({ id: 'OwnSessions', description: 'Sessions of one operator.' }),
        'The sessions.',
      ),
    },
    endSession: {
      route: 'DELETE /sessions/{sessionId}',
      summary: 'End one of your own sessions',
      description: 'Ends a session of the signed-in operator, starting with the next request.',
      role: 'viewer',
      params: { sessionId: { schema: SessionId, otherwise: 'session_not_found' } },
      success: noContent('The session has ended.'),
    },
    deleteSession: {
      route: 'DELETE /session',
      summary: 'Sign out',
      description: 'Ends the session that the cookie identifies.',
      role: 'viewer',
      success: noContent('The session has ended.'),
    },
  },
);
