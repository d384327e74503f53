#include <microhttpd.h>

// What libmicrohttpd takes a variable number of arguments for, which Swift cannot call.

// A server: callbacks, and what it is bounded by.
struct mmlog_http_settings {
  int socket;                        // listening
  unsigned int connections;          // at most at a time
  unsigned int connections_per_ip;   // at most of one address; 0: any number
  unsigned int timeout;              // seconds without a byte
  const char *certificate;           // TLS: in PEM, with its chain; NULL: none
  const char *key;                   // in PEM
  MHD_AccessHandlerCallback handle;
  MHD_RequestCompletedCallback completed;
  MHD_NotifyConnectionCallback connection;
  void *context;                     // what callbacks are given
};

// Starts a thread that accepts connections, each of which has a thread of its own; NULL if it cannot.
static inline struct MHD_Daemon *mmlog_http_start(const struct mmlog_http_settings *settings) {
  const unsigned int flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC;
  const struct MHD_OptionItem tls[] = {
    {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->certificate},
    {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->key},
    {MHD_OPTION_END, 0, NULL},
  };
  const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
  const int secure = settings->certificate != NULL;
  return MHD_start_daemon(
    flags | (secure ? MHD_USE_TLS : 0), 0, NULL, NULL, settings->handle, settings->context,
    MHD_OPTION_LISTEN_SOCKET, settings->socket,
    MHD_OPTION_CONNECTION_LIMIT, settings->connections,
    MHD_OPTION_PER_IP_CONNECTION_LIMIT, settings->connections_per_ip,
    MHD_OPTION_CONNECTION_TIMEOUT, settings->timeout,
    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(128 << 10),
    MHD_OPTION_THREAD_STACK_SIZE, (size_t)(1 << 20),
    MHD_OPTION_STRICT_FOR_CLIENT, 1,
    MHD_OPTION_NOTIFY_COMPLETED, settings->completed, settings->context,
    MHD_OPTION_NOTIFY_CONNECTION, settings->connection, settings->context,
    MHD_OPTION_ARRAY, secure ? tls : none, MHD_OPTION_END);
}

// Begins to count anew how long a connection has been silent.
static inline void mmlog_http_restart_timeout(struct MHD_Connection *connection, unsigned int seconds) {
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0);
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

// The object that the connection's first callback has set; NULL without one.
static inline void *mmlog_http_socket_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

// The connection's descriptor; -1 without one.
static inline int mmlog_http_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

// A response with a body that is copied.
static inline struct MHD_Response *mmlog_http_response(const void *body, size_t size) {
  return MHD_create_response_from_buffer(size, (void *)body, MHD_RESPMEM_MUST_COPY);
}
