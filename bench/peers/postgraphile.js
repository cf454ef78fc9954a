// PostGraphile 5 as its production guide configures it, over the schema of postgraphile.sql.
// node postgraphile.js PORT SPACE      (DATABASE_URL is in the environment)

import { createServer } from 'node:http'
import { grafserv } from 'grafserv/node'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'

const [port] = process.argv.slice(2)
// pg accepts the folder of a socket as the host, but not in the URL format of asyncpg.
const { searchParams, pathname, username } = new URL(process.env.DATABASE_URL.replace('@/', '@localhost/'))
const local = searchParams.get('host')
const poolConfig = { max: 10 }
if (local) {
  Object.assign(poolConfig, { host: local, port: Number(searchParams.get('port')), user: username, database: pathname.slice(1) })
} else {
  poolConfig.connectionString = process.env.DATABASE_URL
}

const preset = {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ poolConfig, schemas: ['peer'] })],
  schema: { defaultBehavior: '-insert -update -delete' },
  grafserv: { graphiql: false, websockets: false, watch: false },
  grafast: {
    explain: false,
    context: ({ node }) => {
      const viewer = node?.req.headers['x-viewer']
      return viewer === undefined ? {} : { pgSettings: { 'peer.viewer': viewer } }
    }
  }
}

const answer = postgraphile(preset).createServ(grafserv).createHandler()
const server = createServer((request, response) => {
  if (request.url === '/readyz') response.end('ready')
  else answer(request, response)
})
server.listen(Number(port), '127.0.0.1')
