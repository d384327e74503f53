#include <curl/curl.h>

// Swift calls no variadic functions: one function for each kind of value.

static inline CURLcode mmlog_curl_set_number(CURL *curl, CURLoption option, long value) {
  return (curl_easy_setopt)(curl, option, value);
}

static inline CURLcode mmlog_curl_set_size(CURL *curl, CURLoption option, curl_off_t value) {
  return (curl_easy_setopt)(curl, option, value);
}

static inline CURLcode mmlog_curl_set_text(CURL *curl, CURLoption option, const char *value) {
  return (curl_easy_setopt)(curl, option, value);
}

static inline CURLcode mmlog_curl_set_pointer(CURL *curl, CURLoption option, const void *value) {
  return (curl_easy_setopt)(curl, option, value);
}

// For CURLOPT_WRITEFUNCTION, CURLOPT_READFUNCTION and CURLOPT_HEADERFUNCTION.
typedef size_t (*mmlog_curl_transfer)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode mmlog_curl_set_transfer(CURL *curl, CURLoption option, mmlog_curl_transfer value) {
  return (curl_easy_setopt)(curl, option, value);
}

// Lets libcurl read the trusted certificates anew for each connection. Since 7.87 it would keep
// them for a day, and not see that their file was replaced.
static inline void mmlog_curl_keep_no_certificates(CURL *curl) {
#if LIBCURL_VERSION_NUM >= 0x075700
  (curl_easy_setopt)(curl, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
}

static inline CURLcode mmlog_curl_set_seek(CURL *curl, curl_seek_callback value) {
  return (curl_easy_setopt)(curl, CURLOPT_SEEKFUNCTION, value);
}

static inline CURLcode mmlog_curl_set_progress(CURL *curl, curl_xferinfo_callback value) {
  return (curl_easy_setopt)(curl, CURLOPT_XFERINFOFUNCTION, value);
}

// What a proxy answered to CONNECT; 0 if none was asked.
static inline long mmlog_curl_connect_status(CURL *curl) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_HTTP_CONNECTCODE, &status);
  return status;
}

static inline long mmlog_curl_response_status(CURL *curl) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return status;
}
